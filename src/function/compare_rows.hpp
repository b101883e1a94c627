// A Comparison as rows of text, which the table and the page share; how numbers are written there, and to files.
#pragma once
#include <string>
#include <vector>

#include <damo/compare.hpp>

namespace damo {

struct ComparisonRow {
  std::string label, unfused, fused, ratio;  // ratio: empty where it says nothing
};
std::vector<ComparisonRow> rows_of(const Comparison& comparison);

/// "swish: fused against unfused on cpu (Some CPU)".
std::string title_of(const Comparison& comparison);
/// "3.58 times as fast", "1.20 times slower", "as fast".
std::string verdict_of(const Comparison& comparison);
/// The verdict's class on the page: " faster", " slower" or nothing.
std::string tone_of(const Comparison& comparison);
/// "greatest difference 1.2e-07 (relative 2.3e-07, 2 ulp), greatest value 0.98".
std::string text_of(const OutputDifference& difference);

/// Three significant digits: "12.3", "0.0123", "1230".
std::string short_number(double value);
/// "12.3 us", "4.56 ms", "1.2 s".
std::string duration_text(double milliseconds);
/// "35.1 GB/s".
std::string rate_text(double bytes_per_second);

}  // namespace damo
