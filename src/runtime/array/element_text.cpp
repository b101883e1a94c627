#include "runtime/array/element_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <damo/scalar.hpp>

namespace damo {
namespace {

constexpr int kDecimals = 8;

/// digits[0].digits[1]... times ten to the exponent.
struct Decimal {
  bool negative;
  std::string digits;
  int exponent;
};

// "-1.25e-07" as a Decimal; zeros at the end go.
Decimal parse(std::string_view text) {
  Decimal decimal{text.front() == '-', {}, 0};
  const std::size_t e = text.find('e');
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') decimal.digits += c;
  }
  while (decimal.digits.size() > 1 && decimal.digits.back() == '0') decimal.digits.pop_back();
  decimal.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  return decimal;
}

Decimal rounded(double value, int decimals) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*e", decimals, value);
  return parse(text);
}

// The fewest digits that give the same value in dtype.
Decimal shortest(DType dtype, double value) {
  if (is_narrow(dtype)) {
    for (int decimals = 0; decimals < 6; ++decimals) {
      const Decimal decimal = rounded(value, decimals);
      char text[40];
      std::snprintf(text, sizeof text, "%.*e", decimals, value);
      const double back = std::strtod(text, nullptr);
      if (Scalar(back).cast(dtype).as_double() == value) return decimal;
    }
  }
  char text[40];
  const auto end = dtype == float64
                       ? std::to_chars(text, text + 40, value, std::chars_format::scientific)
                       : std::to_chars(text, text + 40, static_cast<float>(value), std::chars_format::scientific);
  return parse(std::string_view(text, static_cast<std::size_t>(end.ptr - text)));
}

/// The parts before and after the point, and the exponent, if one is written: "+20".
struct Parts {
  std::string before, after, exponent;
};

Parts positional(const Decimal& decimal) {
  Parts parts;
  std::string digits = decimal.digits;
  if (decimal.exponent < 0) digits.insert(0, static_cast<std::size_t>(-decimal.exponent), '0');
  const std::size_t whole = static_cast<std::size_t>(std::max(decimal.exponent, 0)) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  parts.before = (decimal.negative ? "-" : "") + digits.substr(0, whole);
  parts.after = digits.substr(whole);
  while (!parts.after.empty() && parts.after.back() == '0') parts.after.pop_back();
  return parts;
}

Parts positional(DType dtype, double value) {
  const Parts parts = positional(shortest(dtype, value));
  if (parts.after.size() <= kDecimals) return parts;
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", kDecimals, value);
  const std::string_view all = text;
  std::string_view after = all.substr(all.find('.') + 1);
  while (!after.empty() && after.back() == '0') after.remove_suffix(1);
  return {std::string(all.substr(0, all.find('.'))), std::string(after), {}};
}

Parts scientific(const Decimal& decimal) {
  char exponent[16];
  std::snprintf(exponent, sizeof exponent, "%+03d", decimal.exponent);
  return {(decimal.negative ? "-" : "") + decimal.digits.substr(0, 1), decimal.digits.substr(1), exponent};
}

Parts scientific(DType dtype, double value) {
  const Decimal decimal = shortest(dtype, value);
  return scientific(decimal.digits.size() > kDecimals + 1 ? rounded(value, kDecimals) : decimal);
}

// From here on digits before the point would pretend to a precision that the dtype lacks.
double first_with_exponent(DType dtype, double of_float64) {
  return dtype == float64 ? of_float64 : dtype == float32 ? 1e6 : dtype == float16 ? 1e3 : 1e2;
}

// NumPy 2's rule: beyond the precision of the dtype, or small, or far apart.
bool wants_exponent(DType dtype, const std::vector<double>& values) {
  double greatest = 0, least = INFINITY;
  for (double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    greatest = std::max(greatest, std::abs(value));
    least = std::min(least, std::abs(value));
  }
  if (greatest == 0) return false;
  return greatest >= first_with_exponent(dtype, 1e8) || least < 1e-4 || greatest / least > 1000;
}

std::string special_text(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

std::vector<std::string> floating_texts(DType dtype, const std::vector<double>& values) {
  const bool with_exponent = wants_exponent(dtype, values);
  std::vector<Parts> parts(values.size());
  std::size_t before = 0, after = 0, exponent = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    parts[i] = with_exponent ? scientific(dtype, values[i]) : positional(dtype, values[i]);
    before = std::max(before, parts[i].before.size());
    after = std::max(after, parts[i].after.size());
    exponent = std::max(exponent, parts[i].exponent.size());
  }
  for (std::size_t i = 0; with_exponent && i < values.size(); ++i) {  // one precision for all, as NumPy has it
    if (std::isfinite(values[i])) parts[i] = scientific(rounded(values[i], static_cast<int>(after)));
  }
  const std::size_t tail = 1 + after + (with_exponent ? 1 + exponent : 0);
  for (double value : values) {
    if (std::isfinite(value)) continue;
    const std::size_t length = special_text(value).size();
    if (length > before + tail) before = length - tail;
  }
  std::vector<std::string> texts(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parts& part = parts[i];
    std::string& text = texts[i];
    if (!std::isfinite(values[i])) {
      text = special_text(values[i]);
      text.insert(0, before + tail - text.size(), ' ');
      continue;
    }
    text = std::string(before - part.before.size(), ' ') + part.before + "." + part.after;
    text.append(after - part.after.size(), with_exponent ? '0' : ' ');
    if (!with_exponent) continue;
    text += std::string("e") + part.exponent[0] + std::string(exponent - part.exponent.size(), '0') +
            part.exponent.substr(1);
  }
  return texts;
}

std::string plain_text(const Scalar& value) {
  if (value.dtype() == bool_) return value.as_int() != 0 ? "True" : "False";
  return to_string(value);
}

}  // namespace

std::vector<std::string> element_texts(DType dtype, const std::byte* elements, std::size_t count) {
  const std::size_t item = itemsize(dtype);
  if (is_floating(dtype)) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = Scalar::load(dtype, elements + i * item).as_double();
    return floating_texts(dtype, values);
  }
  std::vector<std::string> texts(count);
  std::size_t width = dtype == bool_ ? 5 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    texts[i] = plain_text(Scalar::load(dtype, elements + i * item));
    width = std::max(width, texts[i].size());
  }
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

std::string element_text(DType dtype, const std::byte* element) {
  const Scalar value = Scalar::load(dtype, element);
  if (!is_floating(dtype)) return plain_text(value);
  const double number = value.as_double(), magnitude = std::abs(number);
  if (!std::isfinite(number)) return special_text(number);
  const Decimal decimal = shortest(dtype, number);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= first_with_exponent(dtype, 1e16))) {
    const Parts parts = scientific(decimal);
    return parts.before + (parts.after.empty() ? "" : "." + parts.after) + "e" + parts.exponent;
  }
  const Parts parts = positional(decimal);
  return parts.before + "." + (parts.after.empty() ? "0" : parts.after);
}

}  // namespace damo
