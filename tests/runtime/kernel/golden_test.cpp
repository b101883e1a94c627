// The generated kernels as text, reviewed: tests/golden has one file a case and target. A change of code generation
// shows there as a diff: run with DAMO_TEST_UPDATE_GOLDEN=1 to rewrite the files, then read what changed.
// Every CUDA text must compile for sm_90 without spills, every CPU text must compile.
#include <cstdlib>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>

#include "runtime/backend.hpp"
#include "runtime/kernel/dialect.hpp"
#include "support/devices.hpp"
#if DAMO_HAS_CPU
#include "runtime/cpu/dialect.hpp"
#endif
#if DAMO_HAS_CUDA
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#endif

namespace damo {
namespace {

struct Case {
  std::string name;
  KernelSpec spec;
  Layout layout;
};
void PrintTo(const Case& golden, std::ostream* out) { *out << golden.name; }

Step step(std::string name, std::string code, std::vector<int> inputs, DType dtype = float32, int cost = 1) {
  Step made;
  made.name = std::move(name);
  made.code = std::move(code);
  made.inputs = std::move(inputs);
  made.compute = made.result = dtype;
  made.cost = cost;
  return made;
}

/// tanh(1.5 x + y) x and x - y, all of one dtype.
KernelSpec usual_spec(DType dtype = float32) {
  KernelSpec spec;
  spec.name = "mul_add_tanh_mul_sub";
  spec.inputs = {dtype, dtype};
  spec.constants = {Scalar(1.5).cast(dtype)};
  spec.steps = {step("mul", "x0 * x1", {0, 2}, dtype), step("add", "x0 + x1", {3, 1}, dtype),
                          step("tanh", "tanh(x0)", {4}, dtype, 13), step("mul", "x0 * x1", {5, 0}, dtype),
                          step("sub", "x0 - x1", {0, 1}, dtype)};
  spec.stores = {6, 7};
  spec.outputs = {dtype, dtype};
  return spec;
}

/// where(mask, half, cast of int8), in float32 and rounded to float16.
KernelSpec mixed_spec() {
  KernelSpec spec;
  spec.name = "cast_where_cast";
  spec.inputs = {bool_, float16, int8};
  Step widen = step("cast", "x0", {2}), choose = step("where", "x0 ? x1 : x2", {0, 1, 3}), narrow = step("cast", "x0", {4}, float16);
  widen.compute = int8;
  widen.rounds = narrow.rounds = choose.condition_first = true;
  narrow.compute = float32;
  spec.steps = {widen, choose, narrow};
  spec.stores = {4, 5};
  spec.outputs = {float32, float16};
  return spec;
}

struct Placed {
  Shape shape;
  Strides strides;
};

/// The layout of these inputs and of dense outputs.
Layout layout_of(const KernelSpec& spec, const Shape& space, std::vector<Placed> operands) {
  while (static_cast<int>(operands.size()) < spec.parameter_count()) operands.push_back({space, contiguous_strides(space)});
  std::vector<ArrayLayout> arrays;
  for (const Placed& operand : operands) arrays.push_back({&operand.shape, &operand.strides});
  return classify(Geometry(space, arrays), spec.input_count());
}

/// An output is an input: no text may promise that they are apart.
Layout in_place(Layout layout) {
  layout.in_place = true;
  return layout;
}

std::vector<Case> cases() {
  const Shape space{256, 512}, huge{std::int64_t{1} << 20, 1 << 12};
  const Placed dense{space, {512, 1}};
  const KernelSpec usual = usual_spec(), half = usual_spec(float16), mixed = mixed_spec();
  return {
      {"flat", usual, layout_of(usual, space, {})},
      {"in_place", usual, in_place(layout_of(usual, space, {}))},
      {"flat_float16", half, layout_of(half, space, {})},
      {"scalar", usual, layout_of(usual, space, {dense, {{}, {}}})},
      {"broadcast_row", usual, layout_of(usual, space, {dense, {{512}, {1}}})},
      {"repeat", usual, layout_of(usual, space, {dense, {{256, 1}, {1, 1}}})},
      {"strided", usual, layout_of(usual, space, {dense, {space, {2048, 2}}})},
      {"transposed", usual, layout_of(usual, space, {dense, {space, {1, 256}}})},
      {"mixed_dtypes", mixed, layout_of(mixed, space, {})},
      {"wide_row", usual, layout_of(usual, huge, {{huge, {1 << 12, 1}}, {{1 << 12}, {1}}})},
  };
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void compare(const Dialect& dialect, const Case& golden, const std::string& extension) {
  const Layout layout = dialect.adapt(golden.spec, golden.layout);
  const std::string text = "// " + to_string(layout) + "\n" + dialect.emit(golden.spec, layout);
  const std::string path = DAMO_SOURCE_DIR "/tests/golden/" + golden.name + extension;
  if (const char* update = std::getenv("DAMO_TEST_UPDATE_GOLDEN"); update && std::string_view(update) == "1") std::ofstream(path) << text;
  EXPECT_EQ(read(path), text) << path << ": rewrite it with DAMO_TEST_UPDATE_GOLDEN=1 if the change is meant";
}

CompileRequest request_of(const Dialect& dialect, const Case& golden) {
  CompileRequest request;
  request.source = dialect.emit(golden.spec, dialect.adapt(golden.spec, golden.layout));
  request.file_name = golden.name;
  request.kernels = {entry_name(golden.spec)};
  return request;
}

class Golden : public ::testing::TestWithParam<Case> {};

#if DAMO_HAS_CUDA
TEST_P(Golden, TextForCudaIsAsReviewed) { compare(cuda_dialect(), GetParam(), ".cu"); }

TEST_P(Golden, TextCompilesWithoutSpillsUnderNvrtc) {
  const cuda_backend::NvrtcCompiler compiler(90);
  CompileRequest request = request_of(cuda_dialect(), GetParam());
  request.flags = {"--ptxas-options=-v"};
  std::string log;
  try {
    log = compiler.compile(request).log;
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  EXPECT_THAT(log, ::testing::HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
  std::smatch registers;
  ASSERT_TRUE(std::regex_search(log, registers, std::regex("Used ([0-9]+) registers"))) << log;
  EXPECT_LE(std::stoi(registers[1]), 64) << "32 warps a multiprocessor keep memory busy";
  RecordProperty("registers", registers[1].str());
}
#endif

#if DAMO_HAS_CPU
TEST_P(Golden, TextForCpuIsAsReviewed) { compare(cpu_dialect(), GetParam(), ".cpp"); }

TEST_P(Golden, TextCompilesOnCpu) {
  EXPECT_GT(Device("cpu").backend().compiler().compile(request_of(cpu_dialect(), GetParam())).bytes.size(), 0u);
}
#endif

INSTANTIATE_TEST_SUITE_P(, Golden, ::testing::ValuesIn(cases()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace damo
