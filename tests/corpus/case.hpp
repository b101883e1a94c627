// One kernel text of the corpus and what its head says of it. The head is comment lines that begin with "//:":
//
//   //: array float32 x[4096] = uniform(-1, 1)        also: integers(0, 10), iota, zeros, constant(3), text(abc)
//   //: array float32 y[4096]                         zeros
//   //: launch scale<float><<<(16, 1), 256, 0>>>(x, y + 8, 2.5f, 4096, {1.0f, x, 3})
//   //: check y within 1e-6                           relative to max(1, |expected|); without "within": equal
//   //: flags -DTILE=16
//
// Launches run in order. An argument is an array (its address, moved on by elements), a literal with C's suffixes (int,
// u, l, ul, f, double), or a struct in braces, laid out as C does. Expected values come from the function of
// references.hpp with the file's name: float64 or exact integers, never the kernel's own steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <damo/dtype.hpp>
#include <damo/kernel.hpp>

namespace damo::corpus {

struct CorpusArray {
  DType dtype = float32;
  std::vector<double> values;  ///< as they are once stored in dtype
};
using Arrays = std::map<std::string, CorpusArray>;

struct Launch {
  std::string kernel;  ///< as a name expression: "scale<float>"
  LaunchConfig config;
  std::vector<std::string> arguments;
};

struct Check {
  std::string array;
  double within = 0;
};

struct Case {
  std::string name, file, source;
  Arrays arrays;
  std::vector<Launch> launches;
  std::vector<Check> checks;
  std::vector<std::string> flags;
};

/// The names of all kernel texts: file names without ".cu".
std::vector<std::string> case_names();
/// Throws std::runtime_error naming file and line for a head that does not make sense.
Case read_case(const std::string& name);

/// Elements of dtype, and back.
std::vector<std::byte> to_bytes(const CorpusArray& array);
std::vector<double> from_bytes(const std::vector<std::byte>& bytes, DType dtype);

/// Splits at commas outside of brackets; trims.
std::vector<std::string> split(const std::string& list);

}  // namespace damo::corpus
