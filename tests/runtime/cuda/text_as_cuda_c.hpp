// Generated kernels as CUDA C that any compiler of it takes, so that the CPU runs them where there is no GPU.
#pragma once
#include <regex>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/reducing_text.hpp"
#include "runtime/cuda/vector_text.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/layout.hpp"

namespace damo {

inline constexpr Processors kProcessors = {132, 1, 227 * 1024};  ///< the CPU has no clusters
/// As it is chosen for a kernel that reduces.
inline Layout cuda_layout(const KernelSpec& spec, const Geometry& geometry, const Processors& processors = kProcessors) {
  return cuda_dialect().share_rows(spec, classify_reducing(geometry), geometry, processors);
}
/// What ptxas says of a kernel whose registers did not suffice.
inline const std::regex kSpill("([0-9]+) bytes spill stores");

inline void replace_text(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

/// The CPU has no clusters. Blocks of one give each other values by a mailbox that outlives the launch, so that a launch finds what all of them gave in the launch before:
/// after as many launches as there are meetings, and one more, results are right.
inline constexpr const char* kMail = R"(
DAMO_FUNCTION void arrive() {}
DAMO_FUNCTION void leave() { __syncthreads(); }
template <class A> union Words { u32 words[(sizeof(A) + 3) / 4]; u64 align; };
template <class A> DAMO_FUNCTION A taken(const Words<A>& from) { A value; memcpy(&value, from.words, sizeof(A)); return value; }
)";
inline constexpr const char* kMeetingsByMail = R"(
DAMO_FUNCTION void open_meeting(u64*) {}
DAMO_FUNCTION void opened() {}
DAMO_FUNCTION void expect(u64*, u32) {}
DAMO_FUNCTION void meet(u64*, u32) { __syncthreads(); }
__device__ u32 mailbox[16][64][4][8][8];  // cluster, turn, meeting, block
template <class A> DAMO_FUNCTION void mail(i64 cluster, u32 turn, u32 part, u64* meetings, Words<A>& to, const A& value, u64* meeting, u32 other) {
  auto& box = mailbox[cluster][turn][(meeting - meetings) / 2];
  memcpy(box[part], &value, sizeof(A));
  memcpy((&to - part + other)->words, box[other], sizeof(A));
}
)";
inline constexpr const char* kAheadAtOnce = R"(
template <int N> DAMO_FUNCTION void fetch(void* to, const void* from) { memcpy(to, from, N); }
template <int N, class T> DAMO_FUNCTION void fetch_some(unsigned char* to, const T* from, i64 begin, i64 end) {
  for (int k = 0; k < N; ++k) if (k >= begin && k < end) fetch<int(sizeof(T))>(to + k * int(sizeof(T)), from + k);
}
DAMO_FUNCTION void fetched() {}
template <int N> DAMO_FUNCTION void await() {}
)";

/// The text with what the prelude of generated kernels and PTX would give it, as far as float32 and the tests' rows need it. That of a user's text has its types.
inline std::string as_cuda_c(std::string text) {
  const std::string prelude = "using namespace damo;\n", head = cuda_head(prelude), vectors = head.substr(head.find(prelude) + prelude.size());
  replace_text(text, kCudaCluster, kMail);
  replace_text(text, kCudaMeetings, kMeetingsByMail);
  replace_text(text, kCudaAhead, kAheadAtOnce);
  replace_text(text, " send(met", " mail(block, turn, part, meetings, met");
  text = std::regex_replace(text, std::regex(" __cluster_dims__\\([0-9]+, 1, 1\\)"), "");
  const std::size_t types = text.find(prelude);
  if (types != std::string::npos) text.replace(types, prelude.size(), R"(
using i32 = int; using u32 = unsigned; using i64 = long long; using u64 = unsigned long long;
template <class To, class From> __device__ To convert(From x) { return To(x); }
namespace math {
__device__ double as_double(u64 bits) { double x; memcpy(&x, &bits, 8); return x; }
__device__ float of_any_sign(float x) { return x; }
__device__ float exp_below_4(float x) { return expf(x); }
}
__device__ float maximum(float a, float b) { return a > b || a != a ? a : b; }
)");
  const std::size_t at = text.find(vectors);
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? text : text.replace(at, vectors.size(), R"(
DAMO_FUNCTION void wait_first() {}
template <class T, int N> struct alignas(sizeof(T) * N & -(sizeof(T) * N)) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION Vec<T, N> load_again(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& v) { *reinterpret_cast<Vec<T, N>*>(p) = v; }
)");
}

}  // namespace damo
