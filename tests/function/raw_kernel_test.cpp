// RawKernels inside Functions: they run on each device, in several shapes and layouts.
#include <damo/damo.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const RawKernel doubler{{.name = "doubler",
                         .inputs = {"const float* i0"},
                         .outputs = {"float* o0"},
                         .scalars = {"int size"},
                         .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) o0[i] = i0[i] * 2;"}};

class RawKernelOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(RawKernelOnEachDevice, DoublesInEveryShape) {
  const auto x = matrix("x");
  const Function f = function({x}, {doubler(x)}, options());
  EXPECT_THAT(Array(f(Array::ones({4, 5}, float32, device()))).to_vector<float>(), Each(2.0f));
  EXPECT_EQ(Array(f(Array::ones({37, 41}, float32, device()))).to_vector<float>(), std::vector<float>(37 * 41, 2.0f));
  EXPECT_EQ(Array(f(Array::empty({0, 5}, float32, device()))).shape(), (Shape{0, 5}));
}

TEST_P(RawKernelOnEachDevice, AsksForValuesAndTheLaunchAtEachLaunch) {
  float rate = 1;
  std::int64_t blocks = 1;
  int asked = 0;
  RawKernelDefinition definition{.name = "scaled",
                                   .inputs = {"const float* x"},
                                   .outputs = {"float* y"},
                                   .scalars = {"int size", "float rate"},
                                   .body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                           "for (; i < size; i += gridDim.x * blockDim.x) y[i] = x[i] * rate + gridDim.x;"};
  definition.values = [&](const KernelShapes&) {
    ++asked;
    return std::vector<Scalar>{rate};
  };
  definition.launch = [&](const KernelShapes&) { return LaunchConfig{.grid = {blocks}, .block = {32}}; };
  const auto x = vector("x");
  const Function f = function({x}, {RawKernel(definition)(x)}, options());
  const Array ones = Array::ones({100}, float32, device());
  EXPECT_THAT(Array(f(ones)).to_vector<float>(), Each(2.0f));
  rate = 10;
  EXPECT_THAT(Array(f(ones)).to_vector<float>(), Each(11.0f)) << "the shapes are the same, the rate is not";
  blocks = 3;
  EXPECT_THAT(Array(f(ones)).to_vector<float>(), Each(13.0f));
  EXPECT_EQ(asked, 3);
}

TEST_P(RawKernelOnEachDevice, BindsShapesThatComeInTurnOnce) {
  std::vector<const Shape*> given;  // kept with what was worked out for them
  RawKernelDefinition definition{.name = "plus_width",
                                   .inputs = {"strided const float* x"},
                                   .outputs = {"float* y"},
                                   .scalars = {"int size", "int x_dim1", "long long x_stride0", "long long x_stride1", "float rate"},
                                   .body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                           "if (i < size) y[i] = x[i / x_dim1 * x_stride0 + i % x_dim1 * x_stride1] * rate + x_dim1;"};
  definition.values = [&](const KernelShapes& shapes) {
    given.push_back(shapes.inputs.data());
    return std::vector<Scalar>{static_cast<float>(given.size())};
  };
  const auto x = matrix("x");
  const Function f = function({x}, {RawKernel(definition)(x)}, options());
  const Array shapes[] = {range({2, 3}), range({3, 2}), range({2, 3}).transpose(), range({4, 5})};
  for (int round = 0; round < 3; ++round) {
    for (const Array& in : shapes) {
      const Array y = f(in);
      EXPECT_EQ(y.to_vector<float>(), (in * static_cast<double>(given.size()) + static_cast<double>(in.shape()[1])).to_vector<float>());
    }
  }
  ASSERT_EQ(given.size(), 12u) << ".values runs at each launch";
  const std::vector second(given.begin() + 4, given.begin() + 8), third(given.begin() + 8, given.end());
  EXPECT_EQ(third, second) << "what was worked out for a layout is found again";
  EXPECT_EQ(std::set(third.begin(), third.end()).size(), 4u) << "each layout has its own";
}

TEST_P(RawKernelOnEachDevice, ReadsViewsInCOrder) {
  const auto x = matrix("x");
  const Function f = function({x}, {doubler(transpose(x))}, options());
  EXPECT_THAT(Array(f(range({2, 3}))).to_vector<float>(), ElementsAre(0, 6, 2, 8, 4, 10));
  const Array all = range({4, 6});
  const Array part = all.slice({{1, 3}, {.start = 5, .step = -2}});
  EXPECT_THAT(Array(function({x}, {doubler(x)}, options())(part)).to_vector<float>(),
              ElementsAre(22, 18, 14, 34, 30, 26));
}

TEST_P(RawKernelOnEachDevice, ReadsStridedInputsWhereTheyLie) {
  const RawKernel copy{{.name = "copy_matrix",
                        .inputs = {"strided const float* x"},
                        .outputs = {"float* y"},
                        .scalars = {"int size", "int x_dim1", "long long x_stride0", "long long x_stride1"},
                        .body = R"(
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) y[i] = x[i / x_dim1 * x_stride0 + i % x_dim1 * x_stride1];)"}};
  const auto x = matrix("x");
  const Function f = function({x}, {copy(x)}, options());
  EXPECT_EQ(f.graph().node_count(), 1);
  EXPECT_THAT(Array(f(range({2, 3}))).to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Array(f(range({2, 3}).transpose())).to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_P(RawKernelOnEachDevice, TakesNumbersHelpersValuesAndItsOwnLaunch) {
  const RawKernel sums{
      {.name = "row_sums",
       .inputs = {"const float* x", "const float* bias"},
       .outputs = {"double* y"},
       .scalars = {"int x_dim0", "int x_dim1", "float factor"},
       .source = R"(
    __device__ float scaled(float x, float factor) { return x * factor; }
    template <class T>
    __global__ void sums(const float* x, const float* bias, T* y, int rows, int columns, float factor) {
      int row = blockIdx.x * blockDim.x + threadIdx.x;
      if (row >= rows) return;
      T sum = bias[0];
      for (int i = 0; i < columns; ++i) sum += scaled(x[row * columns + i], factor);
      y[row] = sum;
    })",
       .kernel = "sums<double>",
       .shapes = [](std::span<const Shape> in) { return std::vector<Shape>{{in[0][0]}}; },
       .launch =
           [](const KernelShapes& s) { return LaunchConfig{.grid = {(s.inputs[0][0] + 63) / 64}, .block = {64}}; },
       .values = [](const KernelShapes& s) { return std::vector<Scalar>{s.inputs[0][1] == 3 ? 2.0 : 1.0}; }}};
  const auto x = matrix("x");
  const Function f = function({x}, {sums(x, 0.5)}, options());
  EXPECT_THAT(Array(f(range({2, 3}))).to_vector<double>(), ElementsAre(6.5, 24.5));
  EXPECT_THAT(Array(f(range({2, 2}))).to_vector<double>(), ElementsAre(1.5, 5.5));
}

TEST_P(RawKernelOnEachDevice, GivesTwoOutputsFromOneLaunchBesideFusedOps) {
  const RawKernel both{{.name = "sum_and_difference",
                        .inputs = {"const float* x", "const float* y"},
                        .outputs = {"float* sum", "float* difference"},
                        .scalars = {"int n"},
                        .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
                                "if (i < n) { sum[i] = x[i] + y[i]; difference[i] = x[i] - y[i]; }"}};
  const auto x = vector("x"), y = vector("y");
  const auto outputs = both.outputs({x * 2.0, y + 1.0});
  const auto [sum, difference] =
      function({x, y}, {outputs[0] * 10.0, outputs[1]}, options()).call<2>(array({1, 2}), array({3, 5}));
  EXPECT_THAT(sum.to_vector<float>(), ElementsAre(60, 100));
  EXPECT_THAT(difference.to_vector<float>(), ElementsAre(-2, -2));
}

TEST_P(RawKernelOnEachDevice, NamesTheUsersLineWhenItDoesNotCompile) {
  const int line = __LINE__ + 1;
  const RawKernel broken{{.name = "broken", .inputs = {"const float* x"}, .outputs = {"float* y"}, .body = R"(
    y[0] = x[0];
    y[1] = missing;)"}};
  const auto x = vector("x");
  const std::string text = error_of([&] { function({x}, {broken(x)}, options()); });
  EXPECT_THAT(text, HasSubstr("missing"));
  EXPECT_THAT(text, ::testing::ContainsRegex("raw_kernel_test.cpp.?" + std::to_string(line + 2)));
}

TEST_P(RawKernelOnEachDevice, RefusesAnExtentThatItsScalarCannotHold) {
  const RawKernel small{{.name = "small",
                         .inputs = {"const float* x"},
                         .outputs = {"float* y"},
                         .scalars = {"signed char n"},
                         .body = "if (n > 0) y[0] = x[0];"}};
  const auto x = vector("x");
  const Function f = function({x}, {small(x)}, options());
  EXPECT_THAT(error_of([&] { f(range({200})); }), HasSubstr("\"signed char n\" cannot hold 200"));
}

TEST_P(RawKernelOnEachDevice, RefusesValuesAndShapesThatDoNotFit) {
  const auto definition = [](std::size_t values, bool turns) {
    return RawKernelDefinition{
        .name = "fill",
        .inputs = {"const float* x"},
        .outputs = {"float* y"},
        .scalars = {"float a", "float b"},
        .body = "y[0] = a + b;",
        .shapes =
            [turns](std::span<const Shape> in) {
              return std::vector<Shape>{turns && in[0][0] < 9 ? Shape{1, 1} : Shape{1}};
            },
        .values = [values](const KernelShapes&) { return std::vector<Scalar>(values, Scalar(1.0)); }};
  };
  const auto x = vector("x");
  const auto error = [&](std::size_t values, bool turns) {
    const RawKernel fill{definition(values, turns)};
    return error_of([&] { function({x}, {fill(x)}, options())(array({1, 2})); });
  };
  EXPECT_EQ(error(2, false), "nothing thrown");
  EXPECT_THAT(error(1, false), HasSubstr(".values gave no value for float b"));
  EXPECT_THAT(error(3, false), HasSubstr(".values gave 3 values for 2 scalars"));
  EXPECT_THAT(error(2, true), HasSubstr("fill: infer_shape gave output 0 the shape (1, 1), make_node declared float32 (?,)"));
}

/// A sum of squares by a tree in shared memory, one block; its gradient is a kernel too.
RawKernel sum_of_squares() {
  const RawKernel backward{
      {.name = "sum_of_squares_backward",
       .inputs = {"const float* x", "const float* g"},
       .outputs = {"float* dx"},
       .scalars = {"int size"},
       .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) dx[i] = 2 * x[i] * g[0];"}};
  return RawKernel{
      {.name = "sum_of_squares",
       .inputs = {"const float* x"},
       .outputs = {"float* y"},
       .scalars = {"int x_size"},
       .body = R"(
    extern __shared__ float sums[];
    float sum = 0;
    for (int i = threadIdx.x; i < x_size; i += blockDim.x) sum += x[i] * x[i];
    sums[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) y[0] = SCALE * sums[0];)",
       .flags = {"-DSCALE=1.0f"},
       .shapes = [](std::span<const Shape>) { return std::vector<Shape>{{}}; },
       .launch = [](const KernelShapes&) { return LaunchConfig{.block = {128}, .shared_bytes = 128 * sizeof(float)}; },
       .gradient = [backward](auto g, auto in, auto) { return backward(in[0], g[0]); }}};
}

TEST_P(RawKernelOnEachDevice, SharesMemoryByItsLaunchRuleAndHasItsGradient) {
  const auto x = matrix("x");
  const RawKernel square_sum = sum_of_squares();
  const Variable cost = square_sum(tanh(x)) * 0.5 + square_sum(x);
  const Function f = function({x}, {cost, grad(cost, x)}, options());
  const auto results = f.call<2>(range({3, 100}, -150).transpose().copy());
  const auto at = results[1].to_vector<float>();
  double want = 0;
  for (int i = 0; i < 300; ++i) {
    const double v = -150 + (i % 3 * 100 + i / 3), t = std::tanh(v);
    want += 0.5 * t * t + v * v;
    EXPECT_NEAR(at[static_cast<std::size_t>(i)], t * (1 - t * t) + 2 * v, 1e-3) << i;
  }
  EXPECT_NEAR(results[0].item().as_double() / want, 1, 1e-5);
}

TEST_P(RawKernelOnEachDevice, IsProfiledAndDrawnLikeABuiltInOp) {
  const auto x = vector("x");
  const Variable y = doubler(x);
  const Function f = function({x}, {y}, {.device = device(), .name = "f", .profile = true});
  for (int i = 0; i < 3; ++i) f(Array::ones({1000}, float32, device()));
  const Profile profile = f.profile();
  const auto row =
      std::find_if(profile.rows.begin(), profile.rows.end(), [](const ProfileRow& r) { return r.op == "doubler"; });
  ASSERT_NE(row, profile.rows.end());
  EXPECT_EQ(row->calls, 3u);
  EXPECT_EQ(row->bytes, 3u * 8000);
  EXPECT_GT(row->milliseconds, 0);
  EXPECT_THAT(row->where, HasSubstr("raw_kernel_test.cpp:"));
  EXPECT_THAT(f.explain(), HasSubstr("doubler -> float32 (?,)  at "));
  EXPECT_THAT(debugprint(f.graph()), HasSubstr("doubler [id A] float32 (?,)"));
  EXPECT_THAT(to_dot(y), HasSubstr("doubler"));
  EXPECT_THAT(to_svg(y), HasSubstr("doubler"));
}

TEST(RawKernelOnCpu, FindsAccessesOutOfBoundsWhenAsked) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const RawKernel beyond{{.name = "beyond",
                          .inputs = {"const float* x"},
                          .outputs = {"float* y"},
                          .scalars = {"int size"},
                          .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) y[i] = x[i + 1];"}};
  const auto x = vector("x");
  const Function f = function({x}, {beyond(x)}, {.device = cpu(), .check = true});
  const std::string text = error_of([&] { f(Array::ones({1000}, float32, cpu())); });
  EXPECT_THAT(text, HasSubstr("kernel 'damo_beyond': read of 4 bytes out of bounds"));
  EXPECT_THAT(text, HasSubstr("raw_kernel_test.cpp:"));
}

TEST(RawKernelOnCpu, MergesEqualKernelsOfEqualInputs) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const RawKernel again{{.name = "doubler",
                         .inputs = {"const float* i0"},
                         .outputs = {"float* o0"},
                         .scalars = {"int size"},
                         .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) o0[i] = i0[i] * 2;"}};
  const auto x = vector("x");
  EXPECT_EQ(function({x}, {doubler(x), again(x)}, {.device = cpu()}).graph().node_count(), 2) << "contiguous, doubler";
}

DAMO_ON_EACH_DEVICE(RawKernelOnEachDevice);

}  // namespace
}  // namespace damo
