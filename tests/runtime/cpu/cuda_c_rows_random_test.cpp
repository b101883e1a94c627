// Random kernels without barriers: joined, guarded and run in step, they give what the same text gives that begins with an
// atomic operation, which keeps every thread by itself.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

/// Writes the body of kernels "(unsigned* y, const unsigned* x, unsigned* calls, unsigned w, unsigned h, unsigned n)". Each
/// thread writes y[o] alone; x is read at most at 40 * w + n.
class RowKernelWriter {
 public:
  explicit RowKernelWriter(unsigned seed) : random_(seed) {}

  std::string body() {
    text_.str("");
    names_ = 0;
    gathers_ = one_in(4);
    // One size is that of the blocks of one launch.
    const char* sizes[] = {"blockDim.x", "blockDim.x", "5", "16u"};
    text_ << "  const unsigned c = blockIdx.x * " << sizes[below(4)] << " + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;\n"
          << "  const unsigned row = gridDim.x * blockDim.x, o = r * row + (blockIdx.x * blockDim.x + threadIdx.x);\n  unsigned v = 1, u = 2;\n  float f = 0.5f;\n";
    if (one_in(6)) text_ << "  u += threadIdx.x;\n";
    for (int guards = below(4); guards > 0; --guards) text_ << "  if (" << guard() << ") return;\n";
    if (one_in(3)) text_ << "  v = x[c] * 3 + y[o];\n";
    // What is computed alike by neighbours is what the compiler rearranges: most kernels have loops of that kind alone.
    const int depth = one_in(4) ? 2 : 1;
    for (int i = 1 + below(3); i > 0; --i) statement(depth, "2", one_in(2));
    text_ << "  y[o] = v + 3 * u + (unsigned)f;\n";
    return text_.str();
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }

  std::string guard() {
    const char* choices[] = {"c >= w", "r >= h", "!(c < w && r < h)", "c == 0", "c < 3", "r < 2 || c > w - 2", "c + r > n", "(int)c > (int)w - 2", "x[0] > n"};
    return choices[below(gathers_ ? 9 : 8)];
  }
  std::string value(const std::string& k) {
    const std::string choices[] = {"x[c]", "x[" + k + " * w + c]", "x[" + k + "]", "x[r + " + k + "]", "v", "u", "c * 5", k, "x[c * 2]", "x[x[c] % 32]"};
    return choices[below(gathers_ ? 10 : 9)];
  }
  void statement(int depth, const std::string& k, bool is_loop = false) {
    const int choice = is_loop ? 5 + below(3) : below(depth > 0 ? gathers_ ? 9 : 8 : 5);
    const std::string i = "k" + std::to_string(names_++);
    switch (choice) {
      case 0: text_ << "  v += " << value(k) << ";\n"; break;
      case 1: text_ << "  u = u * 3 + (" << value(k) << " ^ v);\n"; break;
      case 2:
        if (one_in(3)) text_ << "  if (" << (one_in(2) ? "c * 2 + 1 < w" : "(int)(c * 4 + 70) - (int)" + k + " <= (int)n") << ") v += " << value(k) << ";\n";
        else text_ << "  if (" << value(k) << " & 1) v ^= " << value(k) << ";\n";
        break;
      case 3: text_ << "  { unsigned old = u; u = v; v = old + " << value(k) << "; }\n"; break;
      case 4: text_ << (depth == 0 && one_in(3) ? "  y[o] += v;\n" : "  f = f * 0.5f + (float)(" + value(k) + " & 63u);\n"); break;
      case 5: loop("for (unsigned " + i + " = 0; " + i + " < " + (one_in(2) ? "h" : "n / 20 + 1") + "; ++" + i + ")", depth, i); break;
      case 6: loop("for (int " + i + " = 36; " + i + " >= 0; " + i + " -= 3)", depth, i); break;
      case 7: loop("for (unsigned " + i + " = c; " + i + " < n; " + i + " += row)", depth, "(x[" + i + "] % 8)"); break;
      default: loop("for (unsigned " + i + " = 0; " + i + " < c % 5; ++" + i + ")", depth, i); break;
    }
  }
  void loop(const std::string& head, int depth, const std::string& k) {
    text_ << "  " << head << " {\n";
    for (int i = 1 + below(2); i > 0; --i) statement(depth - 1, k);
    text_ << "  }\n";
  }

  std::mt19937 random_;
  std::ostringstream text_;
  int names_ = 0;
  bool gathers_ = false;  ///< also places that only the data tell, and loops of unlike lengths
};

}  // namespace

TEST(CudaCRowsRandom, GiveWhatThreadsByThemselvesGive) {
  constexpr int kKernels = 15;
  constexpr unsigned kSeeds[] = {1, 2};
  const char* const parameters = "(unsigned* y, const unsigned* x, unsigned* calls, unsigned w, unsigned h, unsigned n) {\n";
  for (const unsigned seed : kSeeds) {
    RowKernelWriter writer(seed);
    std::string text;
    std::vector<std::string> bodies;
    for (int i = 0; i < kKernels; ++i) {
      bodies.push_back(writer.body());
      text += "__global__ void rows" + std::to_string(i) + parameters + bodies.back() + "}\n";
      text += "__global__ void alone" + std::to_string(i) + parameters + "  atomicAdd(calls, 1u);\n" + bodies.back() + "}\n";
    }
    const auto object = load(compile_cuda(text));
    std::vector<unsigned> x(40 * 80 + 400);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<unsigned>(i * 2654435761u) >> 20;
    for (int i = 0; i < kKernels; ++i) {
      for (const auto& [grid, block] : {std::pair{Extent{3, 2}, Extent{16, 4}}, std::pair{Extent{7, 5}, Extent{5, 2}}, std::pair{Extent{1, 9}, Extent{1, 1}}}) {
        for (const auto& [w, h, n] : {std::tuple{40u, 7u, 300u}, std::tuple{35u, 10u, 20u}, std::tuple{48u, 8u, 0u}}) {
          std::vector<unsigned> rows(grid.x * block.x * grid.y * block.y, 9u), alone = rows;
          unsigned calls = 0, *count = &calls;
          launch(object->kernel("alone" + std::to_string(i)), grid, block, alone.data(), x.data(), count, w, h, n);
          launch(object->kernel("rows" + std::to_string(i)), grid, block, rows.data(), x.data(), count, w, h, n);
          ASSERT_EQ(rows, alone) << "seed " << seed << ", grid " << grid.x << " x " << grid.y << ", block " << block.x << " x " << block.y << ", w " << w
                                 << ", h " << h << ", n " << n << "\n" << bodies[i];
          ASSERT_EQ(calls, rows.size());
        }
      }
    }
  }
}

}  // namespace damo::cpu_backend::testing
