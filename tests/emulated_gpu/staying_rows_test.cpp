// Blocks that stay with arrays beside the rows that they read ahead, on a GPU with clusters that the CPU emulates: against float64, and against blocks that have a row each.
#include <damo/damo.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;

class StayingRowsOnEmulatedGpu : public ::testing::Test {
 protected:
  using Graph = std::function<std::vector<Variable>(const std::vector<Variable>&)>;

  void SetUp() override {
    if (gpu_.properties().architecture != "sm_100") GTEST_SKIP() << "has no clusters";
  }

  static Variable standard(const Variable& x, const std::vector<int>& axes) {
    const Variable deviation = x - mean(x, axes, keepdims);
    return deviation * rsqrt(mean(deviation * deviation, axes, keepdims) + 1e-5);
  }

  /// begin: elements in front of each array, so that it is not aligned.
  void check(const std::string& name, const std::vector<Shape>& shapes, DType dtype, const Graph& graph, std::int64_t begin, const char* layout) {
    SCOPED_TRACE(name + " of " + std::string(damo::name(dtype)) + " from " + std::to_string(begin));
    std::vector<Variable> inputs, wide;
    std::vector<Array> given, given_wide;
    for (const Shape& shape : shapes) {
      std::vector<float> values;
      const double speed = 1.37 * static_cast<double>(inputs.size() + 1);
      for (std::int64_t i = 0; i < shape.size() + begin; ++i) values.push_back(static_cast<float>(2 * std::sin(static_cast<double>(i) * speed + static_cast<double>(i / 977) * 0.11)));
      given.push_back(astype(Array::from(values, gpu_), dtype).slice({{begin, begin + shape.size()}}).reshape(shape));
      given_wide.push_back(astype(given.back().to(cpu()), float64));
      inputs.push_back(input({dtype, shape}));
      wide.push_back(input({float64, shape}));
    }
    const Function stays = function(inputs, graph(inputs), {.device = gpu_}), exact = function(wide, graph(wide), {.device = cpu()});
    const Results found = stays.call(given), again = stays.call(given), wanted = exact.call(given_wide);
    EXPECT_THAT(stays.explain(), HasSubstr(layout));
    const damo::testing::Environment one_row("DAMO_CUDA_ROWS", "512,0,8,1");
    const Results held = function(inputs, graph(inputs), {.device = gpu_}).call(given);
    const double tolerance = dtype == float32 ? 2e-6 : dtype == float16 ? 6e-4
                                                                        : 5e-3;  // of the greatest element, of which 16-bit floats are half an ulp away
    for (std::size_t output = 0; output < found.size(); ++output) {
      const std::vector<double> a = found[output].to_doubles(), b = again[output].to_doubles(), c = held[output].to_doubles(), y = wanted[output].to_doubles();
      double most = 1, error = 0, error_held = 0;
      for (std::size_t k = 0; k < y.size(); ++k) {
        ASSERT_EQ(a[k], b[k]) << "output " << output << ", element " << k << ", at the second call";
        ASSERT_TRUE(std::isfinite(a[k])) << "output " << output << ", element " << k;
        most = std::max(most, std::abs(y[k]));
        error = std::max(error, std::abs(a[k] - y[k]));
        error_held = std::max(error_held, std::abs(c[k] - y[k]));
      }
      EXPECT_LE(error, tolerance * most) << "output " << output;
      EXPECT_LE(error, 2 * error_held + 1e-7 * most) << "output " << output << ", beside blocks that have a row each";
    }
  }

  const Device gpu_ = Device("cuda:0");
};

TEST_F(StayingRowsOnEmulatedGpu, NormGroupsOfChannels) {
  const Graph norm = [](const std::vector<Variable>& v) -> std::vector<Variable> { return {standard(v[0], {2, 3}) * v[1] + v[2]}; };
  const Graph residual = [](const std::vector<Variable>& v) -> std::vector<Variable> {
    const Variable sum = v[0] + v[3];
    return {sum, standard(sum, {2, 3}) * v[1] + v[2]};
  };
  const Graph before = [](const std::vector<Variable>& v) -> std::vector<Variable> { return {standard(v[0] * v[1], {2, 3}) + v[2]}; };
  for (DType dtype : {float32, bfloat16}) {
    check("norm", {{6, 4, 8, 8192}, {4, 8, 1}, {4, 8, 1}}, dtype, norm, 0, "in 2 blocks that stay");
    check("norm", {{6, 4, 8, 8196}, {4, 8, 1}, {4, 8, 1}}, dtype, norm, 1, "of vectors, whole, not aligned");
    check("norm with a residual", {{6, 4, 8, 8192}, {4, 8, 1}, {4, 8, 1}, {6, 4, 8, 8192}}, dtype, residual, 0, "in 4 blocks that stay");
  }
  check("norm of what is weighted", {{6, 4, 8, 8192}, {6, 4, 8, 1}, {4, 8, 1}}, float16, before, 0, "blocks that stay");
}

TEST_F(StayingRowsOnEmulatedGpu, NormRowsByWhatAllOfThemShare) {
  const Graph norm = [](const std::vector<Variable>& v) -> std::vector<Variable> { return {standard(v[0], {1}) * v[1] + v[2]}; };
  const Graph softmax = [](const std::vector<Variable>& v) -> std::vector<Variable> {
    const Variable weighted = v[0] * v[1], e = exp(weighted - max(weighted, 1, keepdims));
    return {e / sum(e, 1, keepdims) + v[2]};
  };
  const Graph both = [](const std::vector<Variable>& v) -> std::vector<Variable> { return {standard(v[0], {1, 2}) * v[1] + v[2]}; };
  for (DType dtype : {float32, bfloat16}) {
    check("layer norm", {{26, 65528}, {65528}, {65528}}, dtype, norm, 0, "blocks that stay");
    check("layer norm", {{26, 40008}, {40008}, {40008}}, dtype, norm, 1, "of vectors, whole, not aligned");
    check("norm by an element and by a channel", {{26, 8, 8192}, {8, 8192}, {8, 1}}, dtype, both, 0, "every-row steady");
  }
  check("weighted softmax", {{26, 65536}, {65536}, {65536}}, float32, softmax, 0, "in 4 blocks that stay");
  check("layer norm of a block's rows", {{50, 32768}, {32768}, {32768}}, float16, norm, 0, "512 lanes of 8 vectors of 8 that stay, 1 ahead");
}

TEST_F(StayingRowsOnEmulatedGpu, ReadTwoArraysAhead) {
  const Graph gradient = [](const std::vector<Variable>& v) -> std::vector<Variable> {
    const Variable e = exp(v[0] - max(v[0], 1, keepdims));
    return grad(sum(e / sum(e, 1, keepdims) * v[1] * 1000.0), {v[0]});
  };
  const auto check_gradient = [&](std::int64_t rows, std::int64_t length, DType dtype, std::int64_t begin, const char* layout) { check("gradient of softmax", {{rows, length}, {rows, length}}, dtype, gradient, begin, layout); };
  check_gradient(26, 65536, float32, 0, "512 lanes of 8 vectors of 4 in 4 blocks that stay");
  check_gradient(100, 8184, bfloat16, 0, "512 lanes of 2 vectors of 8 that stay, 2 ahead");
  check_gradient(50, 16384, bfloat16, 0, "512 lanes of 4 vectors of 8 that stay, 2 ahead");
  check_gradient(50, 16372, bfloat16, 1, "that stay, 2 ahead");
  check_gradient(50, 32768, float16, 0, "512 lanes of 8 vectors of 8 that stay, 1 ahead");
  check_gradient(26, 40001, bfloat16, 0, "512 lanes of 5 vectors of 8 in 2 blocks that stay, 2 ahead");
}

/// The logit of a label, read where it lies when the row begins (runtime/kernel/sought_elements.hpp), and the gradient, in which the label's element is another than the rest.
TEST_F(StayingRowsOnEmulatedGpu, SeekAnElement) {
  const Graph losses = [](const std::vector<Variable>& v) -> std::vector<Variable> {
    const Variable label = where(gt(v[1], 0.0), 7, where(gt(v[1], -1.0), 39000, -1));
    const Variable apart = v[0] - max(v[0], 1, keepdims), e = exp(apart), all = sum(e, 1, keepdims), is_label = eq(index_along(v[0], 1), astype(label, int64));
    return {log(all) - sum(where(is_label, apart, 0.0), 1, keepdims), e / all - where(is_label, 1.0, 0.0)};
  };
  check("cross entropy", {{26, 40001}, {26, 1}}, bfloat16, losses, 0, "in 2 blocks that stay");
  check("cross entropy", {{26, 65536}, {26, 1}}, float32, losses, 0, "512 lanes of 16 vectors of 4 in 2 blocks that stay");
  check("cross entropy", {{26, 65536}, {26, 1}}, bfloat16, losses, 0, "1024 lanes of 8 vectors of 4 in 2 blocks that stay");
  check("cross entropy", {{26, 65533}, {26, 1}}, float32, losses, 1, "that stay");
}

TEST_F(StayingRowsOnEmulatedGpu, JoinAcrossWideRows) {
  const Graph gradients = [](const std::vector<Variable>& v) -> std::vector<Variable> { return grad(sum((standard(v[0], {1}) * v[1] + v[2]) * v[3]), {v[0], v[1], v[2]}); };
  const Graph of_rms = [](const std::vector<Variable>& v) -> std::vector<Variable> { return grad(sum(v[0] * rsqrt(mean(v[0] * v[0], 1, keepdims) + 1e-5) * v[1] * v[2]), {v[0], v[1]}); };
  const auto check_norm = [&](std::int64_t rows, std::int64_t length, DType dtype, std::int64_t begin, const char* layout) { check("gradients of layer norm", {{rows, length}, {length}, {length}, {rows, length}}, dtype, gradients, begin, layout); };
  check_norm(40, 10240, float32, 0, "512 lanes of 5 vectors of 4 that stay, 1 ahead");
  check_norm(40, 12288, float32, 0, "512 lanes of 3 vectors of 4 in 2 blocks that stay, 1 ahead");
  check_norm(41, 14000, float32, 0, "that stay, 1 ahead");
  check_norm(40, 12284, float32, 1, "whole, not aligned");
  check_norm(41, 10240, bfloat16, 0, "512 lanes of 3 vectors of 8 that stay, 1 ahead");
  check_norm(40, 14336, bfloat16, 0, "that stay, 1 ahead");
  check_norm(40, 14336, bfloat16, 1, "whole, not aligned");
  check_norm(40, 16360, bfloat16, 0, "512 lanes of 4 vectors of 8 that stay, 1 ahead");
  check_norm(40, 16384, bfloat16, 0, "512 lanes of 2 vectors of 8 in 2 blocks that stay, 1 ahead");
  check_norm(23, 20480, float16, 0, "that stay, 1 ahead");
  check_norm(37, 16376, bfloat16, 1, "whole, not aligned");
  check_norm(23, 24572, float32, 0, "512 lanes of 6 vectors of 4 in 2 blocks that stay, 1 ahead");
  check_norm(23, 40000, bfloat16, 0, "in 2 blocks that stay, 1 ahead");
  check_norm(17, 65536, float32, 1, "in 8 blocks that stay");
  check("gradients of RMS norm", {{33, 20000}, {20000}, {33, 20000}}, float16, of_rms, 0, "512 lanes of 5 vectors of 8 that stay, 1 ahead");
}

}  // namespace
}  // namespace damo
