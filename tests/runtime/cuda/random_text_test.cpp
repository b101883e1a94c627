// The GPU's text of kernels that draw: NVRTC takes it; and, run on the CPU as CUDA C in place of a GPU, it gives the bits that the CPU's own text
// gives, in each schedule: flat, of coordinates, tiles, rows and columns.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {


struct Draw {
  const char* code;
  DType compute, result;
};

constexpr Draw kDraws[] = {{"random_normal<T>(x0, x1, x2)", float32, float32},
                           {"random_normal<T>(x0, x1, x2)", float64, float64},
                           {"random_gumbel<T>(x0, x1, x2)", float32, float32},
                           {"random_exponential<T>(x0, x1, x2)", float64, float64},
                           {"random_uniform<T, 11>(x0, x1, x2)", float32, float16},
                           {"i64(random_below(x0, x1, x2, 1000))", float32, int64},
                           {"random_bernoulli<T>(x0, x1, x2, T(0.3))", float32, bool_},
                           {"random_dropout<T>(x0, x1, x2, u64(1) << 31, math::exact_mul(T(2), T(3)))", float32, float32},
                           {"random_truncated_normal<T>(x0, x1, x2, T(-1), T(2))", float32, float32},
                           {"random_truncated_normal<T>(x0, x1, x2, T(6), T(9))", float64, float64},
                           {"random_gamma<T>(x0, x1, x2, T(0.4))", float32, float32},
                           {"random_poisson(x0, x1, x2, T(3))", float64, int64},
                           {"random_poisson(x0, x1, x2, T(300))", float64, int64}};

/// Inputs: key, draw, an array of float32 that is added to nothing but read, and the elements' numbers over these axes of the space.
KernelSpec draw_spec(const Draw& draw, bool sums, std::uint32_t axes = ~0u) {
  KernelSpec spec;
  spec.name = "draw";
  spec.inputs = {uint64, uint64, float32, int64};
  spec.ordinals = {{}, {}, {}, axes};
  Step step;
  step.name = "draw";
  step.code = draw.code;
  step.compute = draw.compute;
  step.result = draw.result;
  step.inputs = {0, 1, 3};
  step.inputs_as = {uint64, uint64, int64};
  spec.steps.push_back(step);
  Step read;
  read.name = "read";
  read.code = "x1 > 0 ? x0 : T(0)";
  read.compute = read.result = draw.result == float16 ? float32 : draw.result;
  if (draw.result == float16) spec.steps[0].result = float32;
  read.inputs = {4, 2};
  read.inputs_as = {read.compute, float32};
  spec.steps.push_back(read);
  if (sums) {
    Step join;
    join.name = "greatest";
    join.code = "x0";
    join.compute = join.result = read.result;
    join.inputs = {5};
    join.join = Join{.bytes = static_cast<int>(itemsize(read.result)), .neutral = "T(-1)", .reduce = "a > b ? a : b"};
    spec.steps.push_back(join);
  }
  spec.stores = {sums ? 6 : 5};
  spec.outputs = {sums ? read.result : draw.result == float16 ? float16 : read.result};
  return spec;
}

Array filled(const Shape& shape, const Strides& strides, std::int64_t elements, Device device) {
  return Array::ones({elements}, float32, device).view(float32, shape, strides, 0);
}

struct Space {
  Shape shape;
  Strides strides;  // of the array that is read
  std::int64_t elements;
  std::uint32_t reduced = 0;
  std::uint32_t axes = ~0u;
};

const Space kSpaces[] = {{{1003}, {1}, 1003},
                        {{40, 24}, {24, 1}, 960},
                        {{40, 24}, {1, 40}, 960},
                        {{40, 24}, {48, 2}, 1920},
                        {{40, 24}, {0, 1}, 24},
                        {{5, 3, 8}, {24, 8, 1}, 120, 0, 0b101},
                        {{5, 3, 8}, {24, 8, 1}, 120, 0, 0b110},
                        {{7, 300}, {300, 1}, 2100, 0b10},
                        {{7, 301}, {301, 1}, 2107, 0b10},
                        {{7, 300}, {300, 1}, 2100, 0b01},
                        {{2, 20000}, {20000, 1}, 40000, 0b10},
                        {{9, 64}, {64, 1}, 576, 0b10, 0b10}};

std::string describe(const Draw& draw, const Space& given) { return std::string(draw.code) + " " + to_string(given.shape) + " " + to_string(given.strides) + " reduced " + std::to_string(given.reduced); }

Shape reduced_shape(Shape shape, std::uint32_t axes) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axes >> axis & 1u) shape[axis] = 1;
  }
  return shape;
}

Layout draw_layout(const KernelSpec& spec, const Geometry& geometry) {
  if (spec.reduces()) return cuda_layout(spec, geometry);
  return cuda_dialect().adapt(spec, classify(geometry, spec.input_count()));
}

TEST(RandomText, CompilesForAGpuNvrtc) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  const auto compile = [&](const KernelSpec& spec, const Space& given) {
    const Shape one{}, none{}, out = reduced_shape(given.shape, given.reduced);
    const Strides out_strides = contiguous_strides(out);
    std::vector<ArrayLayout> arrays{{&one, &none}, {&one, &none}, {&given.shape, &given.strides}};
    arrays.resize(3 + spec.outputs.size(), {&out, &out_strides});
    const CompileRequest request{cuda_dialect().emit(spec, draw_layout(spec, geometry_of(spec, given.shape, arrays, given.reduced))), SourceKind::kGenerated, "draw.cu"};
    EXPECT_NO_THROW(compiler.compile(request)) << to_string(given.shape);
  };
  for (int given : {2, 5, 7, 9}) compile(draw_spec(kDraws[0], kSpaces[given].reduced != 0, kSpaces[given].axes), kSpaces[given]);
  KernelSpec all = draw_spec(kDraws[0], false);
  for (const Draw& draw : kDraws) {
    all.steps.push_back(draw_spec(draw, false).steps[0]);
    all.stores.push_back(all.first_step() + static_cast<int>(all.steps.size()) - 1);
    all.outputs.push_back(draw.result);
  }
  compile(all, kSpaces[0]);
}

/// How often machine code has one of the two numbers that each round of Philox multiplies by: 20 times for a block, of which some may stand twice, once
/// for each half of a product.
int multiplications(const std::vector<std::byte>& code) {
  int found = 0;
  for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
    std::uint32_t word;
    std::memcpy(&word, code.data() + at, 4);
    found += word == 0xd2511f53u || word == 0xcd9e8d57u;
  }
  return found;
}

TEST(RandomText, NeighboursShareABlock) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  for (const Draw& draw : kDraws) {
    const std::string code = draw.code;
    if (draw.compute != float32 || code.find("below") != code.npos || code.find("truncated") != code.npos || code.find("gamma") != code.npos) continue;
    const KernelSpec spec = draw_spec(draw, false);
    const Space& given = kSpaces[0];
    const Shape one{}, none{};
    const Strides out_strides = contiguous_strides(given.shape);
    const std::vector<ArrayLayout> arrays{{&one, &none}, {&one, &none}, {&given.shape, &given.strides}, {&given.shape, &out_strides}};
    const Layout layout = draw_layout(spec, geometry_of(spec, given.shape, arrays, given.reduced));
    const int blocks = cuda_dialect().vector_width(spec, layout) / 4;
    ASSERT_GE(blocks, 1) << code;
    const CompileRequest request{cuda_dialect().emit(spec, layout), SourceKind::kGenerated, "draw.cu", entry_names(spec, layout)};
    EXPECT_LE(multiplications(compiler.compile(request).bytes), 28 * blocks) << code;
  }
}

TEST(RandomText, NeighboursOfARowShareABlock) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  const Shape shape = {4096, 1024}, out = {4096, 1};
  const Shape one{}, none{};
  const Strides strides = contiguous_strides(shape), out_strides = contiguous_strides(out);
  const std::vector<ArrayLayout> arrays{{&one, &none}, {&one, &none}, {&shape, &strides}, {&out, &out_strides}};
  const KernelSpec spec = draw_spec({"random_dropout<T>(x0, x1, x2, u64(1) << 31, math::exact_mul(T(2), T(3)))", float32, float32}, true);
  const Layout layout = cuda_layout(spec, geometry_of(spec, shape, arrays, 0b10), {132, 8, 227 * 1024});
  ASSERT_EQ(layout.vector, 4);
  const CompileRequest request{cuda_dialect().emit(spec, layout), SourceKind::kGenerated, "draw.cu", entry_names(spec, layout)};
  EXPECT_LE(multiplications(compiler.compile(request).bytes), 28 * layout.items * layout.vector / 4) << to_string(layout);
}

/// The text with the CPU's prelude in the place of the GPU's.
std::string draws_as_cuda_c(std::string text) {
  const std::string head = cuda_head();
  text.replace(text.find(head), head.size(), R"(using namespace damo;  // expf: the functions of math.h
#define DAMO_FUNCTION static __device__ __forceinline__
DAMO_FUNCTION void wait_first() {}
template <class T, int N> struct alignas(sizeof(T) * N & -(sizeof(T) * N)) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION Vec<T, N> load_again(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& v) { *reinterpret_cast<Vec<T, N>*>(p) = v; }
)");
  return text;
}

TEST(RandomText, GivesOnTheCpuTheBitsOfTheCpusText) {
  const testing::Environment form("DAMO_CPU_FORM", "reference");  // right by construction, and compiled in half of the time
  Device device("null");
  try {
    device = cpu();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  const Array key = Array::scalar(Scalar(std::uint64_t{77}), device), number = Array::scalar(Scalar(std::uint64_t{5}), device);
  for (const Space& given : kSpaces) {
    for (const Draw& draw : {Draw{"random_uniform<T, 24>(x0, x1, x2)", float32, float32}}) {
      const KernelSpec spec = draw_spec(draw, given.reduced != 0, given.axes);
      const Array x = filled(given.shape, given.strides, given.elements, device);
      const Shape out = reduced_shape(given.shape, given.reduced);
      const Array found = Array::zeros(out, spec.outputs[0], device), expected = Array::zeros(out, spec.outputs[0], device);
      std::vector<ArrayLayout> arrays;
      for (const Array* array : {&key, &number, &x, &found}) arrays.push_back({&array->shape(), &array->strides()});
      const Geometry geometry = geometry_of(spec, given.shape, arrays, given.reduced);
      const Layout layout = draw_layout(spec, geometry);
      const Work work = cuda_dialect().work(spec, layout, geometry, kProcessors);
      ArgumentBlock block(spec, layout, geometry, cuda_dialect().vector_width(spec, layout), work);
      const void* addresses[] = {key.data(), number.data(), x.data(), nullptr, found.data()};
      for (int i = 0; i < spec.parameter_count(); ++i) block.set_pointer(i, addresses[i]);
      const Array scratch = Array::empty({static_cast<std::int64_t>(std::max<std::size_t>(work.scratch_bytes, 1))}, uint8, device);
      if (spec.reduces()) block.set_scratch(scratch.data());
      block.set_fast();
      CompileRequest request;
      request.source = draws_as_cuda_c(cuda_dialect().emit(spec, layout));
      request.kind = SourceKind::kCudaC;
      request.kernels = entry_names(spec, layout);
      const auto module = device.backend().cache().get(request);
      for (const Work::Launch& launch : work.launches) {
        void* arguments[] = {block.data()};
        device.backend().launch(*module->kernel(request.kernels[static_cast<std::size_t>(launch.entry)]), launch.config, arguments, nullptr);
      }
      SpecKernel kernel(spec, device.backend());
      BoundKernel bound(kernel);
      bound.bind(given.shape, arrays, false, given.reduced);
      bound.set_pointer(0, key.data());
      bound.set_pointer(1, number.data());
      bound.set_pointer(2, x.data());
      bound.set_pointer(3, expected.data());
      bound.launch(nullptr);
      EXPECT_EQ(found.to_doubles(), expected.to_doubles()) << describe(draw, given) << " " << to_string(layout);
    }
  }
}

}  // namespace
}  // namespace damo
