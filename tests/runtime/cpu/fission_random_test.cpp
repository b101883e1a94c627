// Random kernels: whatever they do between their waits, loops over threads and coroutines give the same values.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "runtime/cpu/both_forms.hpp"

namespace damo::cpu_backend::testing {
namespace {

/// Writes kernels "void kN(unsigned* y, const unsigned* x, unsigned n)" without races: shared memory is written at one's
/// own place, read at others' behind a barrier. v, w: a thread's values; u: the same in all threads.
class KernelWriter {
 public:
  explicit KernelWriter(unsigned seed) : random_(seed) {}

  std::string kernel(int number) {
    text_.str("");
    text_ << "__global__ void k" << number << "(unsigned* y, const unsigned* x, unsigned n) {\n"
          << "  __shared__ unsigned s[256], r[256];\n"
          << "  const unsigned t = threadIdx.x, b = blockDim.x, i = blockIdx.x * b + t;\n"
          << "  unsigned v = x[t], w = t * 3, u = n, mine[4] = {1, 2, 3, 4};\n  s[t] = v;\n  r[t] = t;\n";
    if (one_in(2)) text_ << "  if (t >= n) { y[i] = 7; return; }\n";
    text_ << "  __syncthreads();\n";
    for (int k = 0; k < 3; ++k) statement(2, true);
    text_ << "  y[i] = v + 3 * w + 5 * u + mine[t & 3] + s[t];\n}\n";
    return text_.str();
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  std::string number() { return std::to_string(below(9)) + "u"; }
  std::string name(const char* prefix) { return prefix + std::to_string(names_++); }

  std::string uniform() {
    const std::string choices[] = {"u", "n", "blockIdx.x", "(u >> 1)", "(u ^ " + number() + ")", number()};
    return choices[below(6)];
  }
  std::string value() {
    const std::string choices[] = {"v", "w", "t", "(v + w)", "(v >> " + std::to_string(below(5)) + ")", "(t ^ " + number() + ")", "mine[v & 3]", "x[(v + t) % 256]",
                                   "(v < w ? v : t)", uniform()};
    return choices[below(10)];
  }
  void line(const std::string& text) { text_ << "  " << text << "\n"; }

  /// together: all threads of the block that are left come here.
  void statement(int depth, bool together) {
    switch (below(together ? 12 : 4)) {
      case 0: return line("v = v * 5 + " + value() + ";");
      case 1: return line("w ^= " + value() + ";");
      case 2: return line("mine[" + value() + " & 3] += " + value() + ";");
      case 3: return apart(depth);
      case 4: return line("s[t] = " + value() + "; __syncthreads(); v += s[(t + " + number() + ") % b]; __syncthreads();");
      case 5: return line("r[t] += " + value() + "; __syncthreads(); w = r[b - 1 - t]; __syncthreads();");
      case 6: return line("u = __syncthreads_count(" + value() + " & 1) + " + uniform() + ";");
      case 7: return line(one_in(2) ? "v += __shfl_xor_sync(~0u, w, 1 + (" + uniform() + " & 7));" : "w += __ballot_sync(~0u, v & 1);");
      case 8: return warps(depth);
      case 9: return branch(depth);
      case 10: return loop(depth);
      default: return line(one_in(3) ? "if (t % 8 == " + number() + ") { y[i] = v; return; }" : "u += __syncthreads_or(v == " + value() + ");");
    }
  }
  void body(int depth, bool together) {
    for (int k = below(3); k >= 0; --k) statement(depth - 1, together);
  }

  void apart(int depth) {
    if (depth == 0) return line("v += 1;");
    if (one_in(3)) {
      const std::string j = name("j");
      line("for (unsigned " + j + " = 0; " + j + " < (" + value() + " & 3); ++" + j + ") {");
    } else {
      line("if (" + value() + " & 1) {");
    }
    body(depth, false);
    line("}");
  }
  /// Warps that go their own ways, each as a whole.
  void warps(int) {
    line(one_in(2) ? "if (t / 32 % 2) {" : "for (unsigned k = 0; k <= t / 32; ++k) {");
    line("v += __shfl_down_sync(~0u, v, " + number() + "); w = __shfl_sync(~0u, v ^ w, " + value() + " & 31);");
    line("}");
  }
  void branch(int depth) {
    if (depth == 0) return line("__syncthreads();");
    line("if (" + uniform() + " & 1) {");
    body(depth, true);
    if (one_in(2)) line("} else {"), body(depth, true);
    line("}");
  }
  void loop(int depth) {
    if (depth == 0) return line("u += 1;");
    const std::string j = name("j");
    line("for (unsigned " + j + " = 0; " + j + " < 1 + (" + uniform() + " & 1); ++" + j + ") {");
    body(depth, true);
    if (one_in(3)) line("if (" + uniform() + " & 4) break;");
    line("}");
  }

  std::mt19937 random_;
  std::ostringstream text_;
  int names_ = 0;
};

class FissionOfRandomKernels : public ::testing::TestWithParam<unsigned> {};

TEST_P(FissionOfRandomKernels, GivesWhatCoroutinesGive) {
  constexpr int kKernels = 10;
  KernelWriter writer(GetParam());
  std::string text;
  std::vector<std::string> kernels;
  for (int k = 0; k < kKernels; ++k) text += kernels.emplace_back(writer.kernel(k));
  const BothForms forms(text);
  std::vector<unsigned> x(256);
  for (unsigned i = 0; i < 256; ++i) x[i] = i * 2654435761u >> 22;
  for (int k = 0; k < kKernels; ++k) {
    for (const unsigned block : {1u, 31u, 33u, 64u, 256u}) {
      for (const unsigned n : {5u, 32u, 200u}) {
        forms.run("k" + std::to_string(k), {2}, {block}, std::vector<unsigned>(2 * block, 99u), x.data(), n);
        ASSERT_FALSE(HasFailure()) << "n = " << n << ", seed " << GetParam() << "\n" << kernels[k];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FissionOfRandomKernels, ::testing::Range(0u, 10u));

}  // namespace
}  // namespace damo::cpu_backend::testing
