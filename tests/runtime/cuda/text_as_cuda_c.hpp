// Generated kernels as CUDA C that any compiler of it takes, so that the CPU runs them where there is no GPU.
#pragma once
#include <regex>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "runtime/cuda/reducing_text.hpp"
#include "runtime/cuda/vector_text.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {

inline constexpr Processors kProcessors = {132, 1, 227 * 1024};  ///< the CPU has no clusters
/// What ptxas says of a kernel whose registers did not suffice.
inline const std::regex kSpill("([0-9]+) bytes spill stores");

/// The text with what the prelude of generated kernels and PTX would give it, as far as float32 and the tests' rows need it. That of a user's text has its types.
inline std::string as_cuda_c(std::string text) {
  const std::string prelude = "using namespace damo;\n", head = cuda_head(prelude), vectors = head.substr(head.find(prelude) + prelude.size());
  const std::size_t types = text.find(prelude);
  if (types != std::string::npos) text.replace(types, prelude.size(), R"(
using i32 = int; using u32 = unsigned; using i64 = long long; using u64 = unsigned long long;
template <class To, class From> __device__ To convert(From x) { return To(x); }
__device__ float maximum(float a, float b) { return a > b || a != a ? a : b; }
)");
  const std::string_view copies = kCudaStages;  // which the CPU has not, and waits for
  if (const std::size_t stages = text.find(copies); stages != std::string::npos) text.replace(stages, copies.size(), "template <class V> DAMO_FUNCTION void stage(V* to, const V* from) { *to = *from; }\nDAMO_FUNCTION void wait_for_stages() {}\n");
  const std::size_t at = text.find(vectors);
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? text : text.replace(at, vectors.size(), R"(
DAMO_FUNCTION void wait_first() {}
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& v) { *reinterpret_cast<Vec<T, N>*>(p) = v; }
)");
}

}  // namespace damo
