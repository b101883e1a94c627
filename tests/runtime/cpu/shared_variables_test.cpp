// __shared__ variables, wherever a text may declare them: each block has its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

/// A way of declaring 64 ints: what stands outside of the kernel, and the lines of the kernel that make them s.
struct Way {
  const char* name;
  const char* outside;
  const char* inside;
};

const Way kWays[] = {
    {"of_a_function", "", "__shared__ int s[64];"},
    {"by_the_attribute", "", "__attribute__((shared)) int s[64];"},
    {"of_a_file", "__shared__ int of_file[64];", "int* s = of_file;"},
    {"of_a_file_by_the_attribute", "__attribute__((shared)) int of_file_too[64];", "int* s = of_file_too;"},
    {"of_a_section", "__attribute__((section(\"mine\"))) __shared__ int of_section[64];", "int* s = of_section;"},
    {"of_a_template", "template <class T> __shared__ T of_template[64];", "int* s = of_template<int>;"},
    {"of_a_class", "struct Shelf { static __shared__ int items[64]; }; __shared__ int Shelf::items[64];", "int* s = Shelf::items;"},
    {"of_a_class_template", "template <class T> struct Box { static __shared__ T items[64]; }; template <class T> __shared__ T Box<T>::items[64];", "int* s = Box<int>::items;"},
    {"of_a_function_template", "template <class T> __device__ T* items() { __attribute__((shared)) static T s[64]; return s; }", "int* s = items<int>();"},
    {"of_a_lambda", "", "auto f = [](auto x) { __shared__ decltype(x) q[64]; return (decltype(x)*)q; }; int* s = f(1);"},
    {"of_the_launch", "", "extern __shared__ int s[];"},
    {"of_the_launch_by_the_attribute", "", "extern __attribute__((shared)) int s[];"},
    {"of_the_device", "", "__device__ __shared__ int s[64];"},
    {"of_the_device_turned", "", "__shared__ __device__ int s[64];"},
    {"of_a_table", "__shared__ int first[64], second[64];", "int* const tables[] = {first, second}; int* s = tables[gridDim.x & 1];"},
    {"of_a_table_of_structs", "struct Part { int* at; int count; }; __shared__ int parts[2][67];", "const Part table[] = {{parts[0], 1}, {parts[1] + 3, 2}}; int* s = table[gridDim.x & 1].at - table[0].count + 1;"},
};

/// Runs two blocks of 64 threads, and tells how often the worker's shared memory holds numbers then.
int worker_memory_of(KernelEntry kernel, int* y, const std::vector<int>& numbers) {
  alignas(64) int shared[1024] = {};
  const void* pointers[] = {&y, nullptr};
  LaunchReport report;
  LaunchFrame frame{{2, 1, 1}, {64, 1, 1}, 256, 0, shared, &report};
  KernelGuard::call(report, [&] { kernel(const_cast<void* const*>(pointers), &frame, 0, 2); });
  EXPECT_FALSE(report.failed()) << report.what();
  int count = 0;
  for (const int* at = shared; (at = std::search(at, std::cend(shared), numbers.begin(), numbers.end())) != std::cend(shared); ++at) ++count;
  return count;
}

// Failed before: variables whose class or template is instantiated were constants to the compiler, those declared by the attribute alone were
// one for all blocks, and tables of addresses were refused.
TEST(SharedVariables, AreEachBlocksOwnWhereverTheyAreDeclared) {
  std::string text;
  for (const Way& way : kWays) {
    text += std::string(way.outside) + "\nextern \"C\" __global__ void " + way.name + "(int* y) {\n  " + way.inside +
            "\n  const int t = threadIdx.x;\n  s[t] = 100 * blockIdx.x + t;\n  __syncthreads();\n  y[blockIdx.x * 64 + t] = s[63 - t];\n}\n";
  }
  for (const char* form : {"", "--damo-coroutines", "--damo-reference"}) {
    const auto object = load(compile_cuda(text, {}, *form ? std::vector<std::string>{form} : std::vector<std::string>{}));
    for (const Way& way : kWays) {
      std::vector<int> y(2 * 64, -1), expected, last;
      for (int i = 0; i < 2 * 64; ++i) expected.push_back(i / 64 * 100 + 63 - i % 64);
      for (int t = 0; t < 64; ++t) last.push_back(100 + t);
      EXPECT_EQ(worker_memory_of(object->kernel(way.name), y.data(), last), 1) << way.name << " is not in the worker's memory, form " << form;
      EXPECT_EQ(y, expected) << way.name << ", form " << form;
    }
  }
}

}  // namespace
}  // namespace damo::cpu_backend::testing
