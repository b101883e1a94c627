#include <damo/io/csv.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "graph/base/characters.hpp"
#include "io/atomic_file.hpp"
#include "io/source.hpp"

namespace damo::csv {
namespace {

/// Fields of a text, with the place of each for errors.
class Reader {
 public:
  Reader(const std::string& path, std::string_view text, const LoadOptions& options) : path_(path), rest_(text), options_(options) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // the mark that some programs begin UTF-8 with
    for (int i = 0; i < options.skip_lines && !rest_.empty(); ++i) take_line();
  }

  /// The next line with something in it; false at the end.
  bool next_line() {
    while (!rest_.empty()) {
      fields_ = take_line();
      column_ = 0;
      const std::size_t first = fields_.find_first_not_of(" \t");
      if (first != std::string_view::npos && (options_.comment == 0 || fields_[first] != options_.comment)) return is_open_ = true;
      if (options_.separator == '\t' && first == std::string_view::npos && !fields_.empty()) return is_open_ = true;  // a row of empty fields
    }
    return false;
  }

  bool next_field(std::string_view& field) {
    if (!is_open_) return false;
    ++column_;
    std::size_t end;
    const std::size_t quote = fields_.find_first_not_of(options_.separator == '\t' ? " " : " \t");
    if (quote != std::string_view::npos && fields_[quote] == '"') {
      const std::size_t close = fields_.find('"', quote + 1);
      if (close == std::string_view::npos) fail("expected a closing quotation mark");
      end = std::min(fields_.find(options_.separator, close), fields_.size());
      if (fields_.substr(close + 1, end - close - 1).find_first_not_of(" \t") != std::string_view::npos) fail("expected a separator behind the quotation mark");
      field = fields_.substr(quote + 1, close - quote - 1);
    } else {
      end = std::min(fields_.find(options_.separator), fields_.size());
      field = fields_.substr(0, end);
    }
    is_open_ = end < fields_.size();
    fields_.remove_prefix(is_open_ ? end + 1 : end);
    const std::size_t first = field.find_first_not_of(" \t"), last = field.find_last_not_of(" \t");
    field = first == std::string_view::npos ? std::string_view() : field.substr(first, last - first + 1);
    return true;
  }

  std::int64_t column() const { return column_; }
  [[noreturn]] void fail(const std::string& message) const {
    throw FileError("csv: " + printable(path_) + ": line " + std::to_string(line_) + ", column " + std::to_string(column_) + ": " + message);
  }

 private:
  std::string_view take_line() {
    ++line_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  const std::string& path_;
  std::string_view rest_, fields_;
  const LoadOptions& options_;
  std::int64_t line_ = 0, column_ = 0;
  bool is_open_ = false;
};

std::string shown(std::string_view field) { return "'" + printable(field, io::kMostOfAText) + "'"; }

/// The field's number as one of dtype, or false.
bool parse(std::string_view field, DType dtype, std::vector<std::byte>& to) {
  if (field.starts_with('+')) {
    field.remove_prefix(1);
    if (field.starts_with('-')) return false;
  }
  const char *begin = field.data(), *end = begin + field.size();
  return visit(dtype, [&]<class T>(T) {
    T value{};
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto [stop, error] = std::from_chars(begin, end, value);
      if (error != std::errc() || stop != end) return false;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (field != "0" && field != "1" && field != "true" && field != "false" && field != "True" && field != "False") return false;
      value = field == "1" || field.ends_with("rue");
    } else {
      // float32 is parsed as such: by way of a double it would be rounded twice.
      std::conditional_t<std::is_same_v<T, float>, float, double> number{};
      const auto [stop, error] = std::from_chars(begin, end, number);
      if (stop != end || begin == end) return false;
      if (error == std::errc::result_out_of_range) {  // its sign and size: beyond the greatest, or below the least
        number = static_cast<decltype(number)>(std::strtod(std::string(field).c_str(), nullptr));
      } else if (error != std::errc()) {
        return false;
      }
      value = static_cast<T>(number);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), bytes, bytes + sizeof value);
    return true;
  });
}

/// What no field ends at: letters and signs stand in numbers, nan and inf.
void require_separator(char separator) {
  if (std::isalnum(static_cast<unsigned char>(separator)) || std::string_view("+-.\"\n\r").find(separator) != std::string_view::npos || separator == 0) {
    throw OptionError("csv: a separator of code " + std::to_string(static_cast<unsigned char>(separator)) + " stands in numbers or ends lines", "separate by ',', ';', ' ' or '\\t'");
  }
}

}  // namespace

Array load(const std::string& path, const LoadOptions& options) {
  require_separator(options.separator);
  if (options.separator == options.comment) throw OptionError("csv: fields are separated by the sign that begins a comment", "set comment to 0 or to another sign");
  if (options.skip_lines < 0) throw OptionError("csv: skip_lines is " + std::to_string(options.skip_lines), "0 or more lines are left out");
  io::FileSource source("csv", path);
  const std::vector<std::byte> bytes = source.read_bytes(source.size(), "text");
  Reader reader(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options);
  std::vector<std::byte> values;
  std::int64_t rows = 0, columns = 0;
  for (std::string_view field; reader.next_line(); ++rows) {
    while (reader.next_field(field)) {
      if (rows > 0 && reader.column() > columns) reader.fail("expected " + std::to_string(columns) + " fields, as in the lines before");
      if (field.empty() && options.missing) {
        std::byte element[8];
        Scalar(*options.missing).cast(options.dtype).store(element);
        values.insert(values.end(), element, element + itemsize(options.dtype));
      } else if (!parse(field, options.dtype, values)) {
        reader.fail("expected a number of " + std::string(name(options.dtype)) + ", found " + (field.empty() ? "an empty field (csv::LoadOptions::missing says what it stands for)" : shown(field)));
      }
    }
    if (rows == 0) columns = reader.column();
    if (reader.column() != columns) reader.fail("expected " + std::to_string(columns) + " fields, as in the lines before");
  }
  return Array::from_bytes(values.data(), static_cast<std::size_t>(rows * columns), options.dtype, {rows, columns}, options.device ? *options.device : Device());
}

void save(const std::string& path, const Array& table, const SaveOptions& options) {
  io::require_elements("csv", table);
  require_separator(options.separator);
  if (table.rank() != 1 && table.rank() != 2) throw ShapeError("csv: a table has rank 1 or 2, this array is " + to_string(table.shape()), "reshape it to one or two axes");
  const std::int64_t rows = table.shape()[0], columns = table.rank() == 2 ? table.shape()[1] : 1;
  if (!options.header.empty() && static_cast<std::int64_t>(options.header.size()) != columns) {
    throw OptionError("csv: a header of " + std::to_string(options.header.size()) + " names for " + std::to_string(columns) + " columns", "give one for each column");
  }
  std::vector<std::byte> storage;
  const std::byte* element = io::host_bytes(table, storage).data();
  std::string text;
  for (std::size_t i = 0; i < options.header.size(); ++i) {
    const std::string& word = options.header[i];
    if (word.find_first_of("\"\r\n") != std::string::npos) throw OptionError("csv: a column's name has no quotation marks and no ends of lines: " + shown(word));
    const bool needs_quotes = word.find(options.separator) != std::string::npos;
    text += (needs_quotes ? "\"" + word + "\"" : word) + (i + 1 < options.header.size() ? options.separator : '\n');
  }
  io::AtomicFile file("csv", path);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column, element += itemsize(table.dtype())) {
      visit(table.dtype(), [&]<class T>(T value) {
        std::memcpy(&value, element, sizeof value);
        if constexpr (std::is_same_v<T, bool>) {
          text += value ? '1' : '0';
        } else {
          char digits[40];
          // The shortest float that reads back as the same number is one for 16 bits too.
          const auto number = [&] { if constexpr (std::is_class_v<T>) return static_cast<float>(value); else return value; }();
          text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
        }
      });
      text += column + 1 < columns ? options.separator : '\n';
    }
    if (text.size() > 1 << 20) {
      file.write(text);
      text.clear();
    }
  }
  file.write(text);
  file.commit();
}

}  // namespace damo::csv
