#include "support/text.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include "support/digits.hpp"

namespace examples {

damo::Batch Text::rows_at(std::span<const std::int64_t> places, std::int64_t length) const {
  std::vector<std::int64_t> now, then;
  for (const std::int64_t place : places) {
    now.insert(now.end(), codes.begin() + place, codes.begin() + place + length);
    then.insert(then.end(), codes.begin() + place + 1, codes.begin() + place + 1 + length);
  }
  const damo::Shape shape{static_cast<std::int64_t>(places.size()), length};
  return {damo::Array::from(now, shape), damo::Array::from(then, shape)};
}

Text load_text(const std::string& name) {
  std::ifstream file(name.empty() ? data_file("../../docs/user_guide.md") : name);
  const std::string characters(std::istreambuf_iterator<char>(file), {});
  std::map<char, double> counts;
  for (const char letter : characters) ++counts[letter];
  Text text;
  std::map<char, std::int64_t> number;
  for (const auto& [letter, times] : counts) {
    number.emplace(letter, static_cast<std::int64_t>(number.size()));
    text.letters += letter;
    const double share = times / static_cast<double>(characters.size());
    text.entropy -= share * std::log(share);
  }
  for (const char letter : characters) text.codes.push_back(number.at(letter));
  return text;
}

}  // namespace examples
