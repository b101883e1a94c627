#include "ops/einsum.hpp"

#include <algorithm>
#include <limits>

#include <damo/error.hpp>
#include "graph/base/counted.hpp"

namespace damo {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Parser {
 public:
  Parser(std::string_view text, std::span<const int> ranks) : given_(text), ranks_(ranks) {
    for (char c : text) {
      if (c != ' ') text_ += c;
    }
  }

  EinsumTerms parse() {
    const std::size_t arrow = text_.find("->");
    std::vector<std::string> texts = {""};
    for (char c : text_.substr(0, arrow)) {
      if (c == ',') texts.emplace_back();
      else texts.back() += c;
    }
    if (texts.size() != ranks_.size()) {
      refuse("has " + std::to_string(texts.size()) + (texts.size() == 1 ? " term" : " terms") + ", " + std::to_string(ranks_.size()) +
             (ranks_.size() == 1 ? " operand was given" : " operands were given"), "write one term for each operand, with commas between them");
    }
    EinsumTerms terms;
    for (std::size_t i = 0; i < texts.size(); ++i) terms.inputs.push_back(axes_of(texts[i], ranks_[i], i));
    if (arrow == std::string::npos) terms.output = implied(terms);
    else terms.output = output(text_.substr(arrow + 2), terms);
    return terms;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const { throw GraphError("einsum: \"" + std::string(given_) + "\" " + what, remedy); }

  /// Letters, and where the ellipsis stands among them.
  std::vector<int> read(const std::string& text, int ellipsis_axes) const {
    std::vector<int> axes;
    bool seen = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text.compare(i, 3, "...") == 0) {
        if (seen) refuse("has two ellipses in one term", "write ... once a term");
        seen = true;
        i += 2;
        for (int axis = ellipsis_axes; axis-- > 0;) axes.push_back(EinsumTerms::kEllipsis + axis);
      } else if (is_letter(text[i])) {
        axes.push_back(text[i]);
      } else {
        refuse(std::string("has a '") + text[i] + "', which names no axis", "axes are letters; ... stands for axes without names");
      }
    }
    return axes;
  }

  std::vector<int> axes_of(const std::string& text, int rank, std::size_t operand) {
    const bool has_ellipsis = text.find("...") != std::string::npos;
    const int letters = static_cast<int>(std::count_if(text.begin(), text.end(), is_letter));
    if (has_ellipsis ? letters > rank : letters != rank) {
      read(text, 0);
      refuse("names " + counted_axes(letters) + " of operand " + std::to_string(operand) + ", which has " + std::to_string(rank),
             "name each axis, or write ... for those without names");
    }
    if (has_ellipsis) ellipsis_ = std::max(ellipsis_, rank - letters);
    return read(text, rank - letters);
  }

  std::vector<int> ellipsis() const {
    std::vector<int> axes;
    for (int axis = ellipsis_; axis-- > 0;) axes.push_back(EinsumTerms::kEllipsis + axis);
    return axes;
  }

  /// Letters that stand once, in the alphabet's order, behind the ellipsis.
  std::vector<int> implied(const EinsumTerms& terms) const {
    std::vector<int> counts(128, 0), axes = ellipsis();
    for (const std::vector<int>& term : terms.inputs) {
      for (int axis : term) {
        if (axis < 128) ++counts[static_cast<std::size_t>(axis)];
      }
    }
    for (int axis = 0; axis < 128; ++axis) {
      if (counts[static_cast<std::size_t>(axis)] == 1) axes.push_back(axis);
    }
    return axes;
  }

  std::vector<int> output(const std::string& text, const EinsumTerms& terms) const {
    const std::vector<int> axes = read(text, ellipsis_);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) != axes.begin() + static_cast<std::ptrdiff_t>(i)) {
        refuse("names axis " + einsum_label(axes[i]) + " of the result twice", "name each axis of the result once");
      }
      const bool is_there = std::any_of(terms.inputs.begin(), terms.inputs.end(), [&](const auto& term) { return std::find(term.begin(), term.end(), axes[i]) != term.end(); });
      if (!is_there) refuse("has axis " + einsum_label(axes[i]) + " in the result and in no operand", "leave it out");
    }
    if (ellipsis_ > 0 && text.find("...") == std::string::npos) refuse("has ... in an operand and not in the result", "write ... in the result too");
    return axes;
  }

  std::string_view given_;
  std::span<const int> ranks_;
  std::string text_;
  int ellipsis_ = 0;  // axes of the longest
};

double count_of(const std::vector<int>& axes, const std::vector<std::int64_t>& extents) {
  double count = 1;
  for (int axis : axes) count *= static_cast<double>(extents[static_cast<std::size_t>(axis)]);
  return count;
}

}  // namespace

std::string einsum_label(int axis) { return axis >= EinsumTerms::kEllipsis ? "..." : std::string(1, static_cast<char>(axis)); }

EinsumTerms parse_einsum(std::string_view text, std::span<const int> ranks) { return Parser(text, ranks).parse(); }

std::pair<std::size_t, std::size_t> cheapest_pair(const EinsumTerms& all_terms, const std::vector<std::int64_t>& extents) {
  const std::vector<std::vector<int>>& terms = all_terms.inputs;
  std::pair<std::size_t, std::size_t> best{0, 1};
  double least = std::numeric_limits<double>::infinity(), smallest = least;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      std::vector<int> all = terms[i], made;
      for (int axis : terms[j]) {
        if (std::find(all.begin(), all.end(), axis) == all.end()) all.push_back(axis);
      }
      for (int axis : all) {  // what a third term or the result has is left
        bool is_left = std::find(all_terms.output.begin(), all_terms.output.end(), axis) != all_terms.output.end();
        for (std::size_t k = 0; k < terms.size(); ++k) is_left |= k != i && k != j && std::find(terms[k].begin(), terms[k].end(), axis) != terms[k].end();
        if (is_left) made.push_back(axis);
      }
      const double cost = count_of(all, extents), size = count_of(made, extents);
      if (cost > least || (cost == least && size >= smallest)) continue;
      least = cost;
      smallest = size;
      best = {i, j};
    }
  }
  return best;
}

}  // namespace damo
