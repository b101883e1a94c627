// The programs that faults are injected into. Each is a small use of Damo whose right values are known beforehand.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <damo/array.hpp>
#include <damo/device.hpp>

namespace damo::faults {

/// Thrown where a program computed a wrong value.
struct Wrong {
  const char* what;
  double got, wanted;
};

class Program {
 public:
  virtual ~Program() = default;
  /// Makes what step() uses.
  virtual void build(Device device) = 0;
  /// Uses it and throws Wrong if the values are. Can be called again, also after it threw something else.
  virtual void step() = 0;
};

struct ProgramEntry {
  std::string name;
  std::unique_ptr<Program> (*make)();
  bool compiles = false;  ///< with an empty kernel cache each time
};

std::vector<ProgramEntry> function_programs();  // of graphs and arrays
std::vector<ProgramEntry> cuda_c_programs();    // of kernels and memory by hand
std::vector<ProgramEntry> file_programs();      // of formats and the data loader

template <class Made>
ProgramEntry entry(std::string name, bool compiles = false) {
  return {std::move(name), [] { return std::unique_ptr<Program>(std::make_unique<Made>()); }, compiles};
}

/// values[i] is what expect(i) says, to a relative error of 1e-5.
template <class T, class Expect>
void require_values(const char* what, std::span<const T> values, std::size_t count, Expect expect) {
  if (values.size() != count) throw Wrong{what, static_cast<double>(values.size()), static_cast<double>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = expect(i), got = static_cast<double>(values[i]), error = got < wanted ? wanted - got : got - wanted;
    if (!(error <= 1e-5 * (wanted < 0 ? -wanted : wanted) + 1e-6)) throw Wrong{what, got, wanted};
  }
}

template <class T, class Expect>
void require_array(const char* what, const Array& array, std::size_t count, Expect expect) {
  const std::vector<T> values = array.to_vector<T>();
  require_values<T>(what, values, count, expect);
}

}  // namespace damo::faults
