// Rows against the tables that NumPy validates its own functions with: input, output rounded once from higher precision,
// and how many floats a result may lie from it. NumPy's package carries them (numpy/_core/tests/data; BSD licence), so
// nothing is copied: the Python that $PYTHON names, else python3 or /usr/bin/python3, says where. Without NumPy the test is skipped aloud.
#include <damo/damo.hpp>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "ops/rows.hpp"
#include "support/devices.hpp"

namespace damo::testing {
namespace {

/// The folder of the tables that this Python's NumPy came with; empty if there is none.
std::filesystem::path tables_of(const std::string& python) {
  const std::string command = "'" + python + "' -c 'import numpy; print(numpy.__path__[0])' 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) return {};
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof part, pipe)) text += part;
  pclose(pipe);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (const char* core : {"_core", "core"}) {
    const std::filesystem::path folder = std::filesystem::path(text) / core / "tests" / "data";
    if (!text.empty() && std::filesystem::exists(folder / "umath-validation-set-exp.csv")) return folder;
  }
  return {};
}

/// Of the Python that PYTHON names; else of the first python3, or of the distribution's, which a python3 of another kind may hide.
std::filesystem::path tables_folder() {
  const char* const named = std::getenv("PYTHON");
  if (named && *named) return tables_of(named);
  const std::filesystem::path folder = tables_of("python3");
  return folder.empty() ? tables_of("/usr/bin/python3") : folder;
}

/// NumPy's name of a row.
const std::map<std::string, std::string> kRowOf = {
    {"arccos", "acos"}, {"arccosh", "acosh"}, {"arcsin", "asin"}, {"arcsinh", "asinh"}, {"arctan", "atan"}, {"arctanh", "atanh"}, {"cbrt", "cbrt"},
    {"cos", "cos"}, {"cosh", "cosh"}, {"exp", "exp"}, {"exp2", "exp2"}, {"expm1", "expm1"}, {"log", "log"}, {"log10", "log10"},
    {"log1p", "log1p"}, {"log2", "log2"}, {"sin", "sin"}, {"sinh", "sinh"}, {"tan", "tan"}, {"tanh", "tanh"}};

template <class T>
struct Table {
  std::vector<T> inputs, outputs;
  double tolerance = 0;
};

template <class T>
Table<T> read(const std::filesystem::path& file) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Table<T> table;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(sizeof(T) == 4 ? "np.float32," : "np.float64,")) continue;
    std::istringstream fields(line);
    std::string field[4];
    for (std::string& text : field) std::getline(fields, text, ',');
    table.inputs.push_back(std::bit_cast<T>(static_cast<Word>(std::stoull(field[1], nullptr, 16))));
    table.outputs.push_back(std::bit_cast<T>(static_cast<Word>(std::stoull(field[2], nullptr, 16))));
    table.tolerance = std::max(table.tolerance, std::stod(field[3]));
  }
  return table;
}

/// How many floats lie from one to the other; 0 and -0 are one.
template <class T>
double distance(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : 1e30;
  using Word = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const Word x = std::bit_cast<Word>(std::abs(a)), y = std::bit_cast<Word>(std::abs(b));
  return std::signbit(a) == std::signbit(b) ? std::abs(static_cast<double>(x - y)) : static_cast<double>(x) + static_cast<double>(y);
}

class NumpyTablesOnEachDevice : public OnEachDevice {
 protected:
  template <class T>
  void check(const std::filesystem::path& folder) {
    int rows = 0;
    for (const auto& [numpy_name, row_name] : kRowOf) {
      const Table<T> table = read<T>(folder / ("umath-validation-set-" + numpy_name + ".csv"));
      if (table.inputs.empty()) continue;
      ++rows;
      const ElementwiseRow& row = *find_elementwise(row_name);
      // CUDA's own functions keep to the row's bound, which is from the exact value: half a float more from the rounded one.
      const double allowed = device().kind() == DeviceKind::kCuda ? std::max(table.tolerance, std::floor(row.ulp + 0.5)) : table.tolerance;
      const Variable x = vector("x", dtype_of<T>());
      const Variable results[] = {apply_elementwise(row, {x})}, inputs[] = {x};
      const std::vector<T> got = Array(function(inputs, results, {.device = device()})(Array::from(table.inputs, device()))).template to_vector<T>();
      double worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double off = distance(got[i], table.outputs[i]);
        if (off > worst) worst = off, at = i;
      }
      EXPECT_LE(worst, allowed) << row_name << " of " << name(dtype_of<T>()) << " (" << std::hexfloat << table.inputs[at] << ") is " << got[at] << ", not " << table.outputs[at];
    }
    EXPECT_GE(rows, 20) << "the tables that were read";
  }
};

TEST_P(NumpyTablesOnEachDevice, EveryRowThatTheyCoverKeepsToTheirTolerance) {
  const std::filesystem::path folder = tables_folder();
  if (folder.empty()) GTEST_SKIP() << "needs NumPy with its tests: apt-get install python3-numpy, or name a Python that has it with PYTHON";
  check<float>(folder);
  check<double>(folder);
}

DAMO_ON_EACH_DEVICE(NumpyTablesOnEachDevice);

}  // namespace
}  // namespace damo::testing
