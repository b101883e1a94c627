// CSV: a table of numbers as text, one row a line.
//
//   Array digits = csv::load("digits.csv", {.dtype = int64});           // (rows, columns)
//   Array t = csv::load("t.tsv", {.separator = '\t', .skip_lines = 1, .missing = NAN});
//   csv::save("t.csv", t, {.header = {"time", "cost"}});
//
// Lines end in LF or CRLF; a field may stand in quotation marks and have blanks around it; empty lines and those that begin with the
// comment sign are left out. FileError, with line and column, for a field that is no number of the dtype (300 as uint8, 1.5 as int64,
// text), an empty one unless .missing says what it stands for, and a line of another number of fields. Numbers are written with as
// few digits as read back to the same value. Saving: rank 1 (a column) or 2. OptionError for a separator that stands in numbers or ends
// lines. Written whole or not at all, as io/npy.hpp says. Memory: the text and the numbers. See tests/io/csv_test.cpp.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/io/file_error.hpp>

namespace damo::csv {

struct LoadOptions {
  char separator = ',';
  int skip_lines = 0;                    ///< a header's
  char comment = '#';
  DType dtype = float32;
  std::optional<double> missing = {};    ///< what an empty field stands for
  std::optional<Device> device = {};     ///< default: Device()
};
Array load(const std::string& path, const LoadOptions& options = {});

struct SaveOptions {
  char separator = ',';
  std::vector<std::string> header = {};  ///< a first line, if there are any; as many as columns
};
void save(const std::string& path, const Array& table, const SaveOptions& options = {});

}  // namespace damo::csv
