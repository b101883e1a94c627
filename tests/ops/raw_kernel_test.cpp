// RawKernel as its user writes it: declarations, rules, scalars, merging, errors that name the user's line.
#include <damo/raw_kernel.hpp>

#include <gmock/gmock.h>

#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include "ops/raw_kernel_op.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::HasSubstr;

constexpr const char* kDouble = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) o0[i] = i0[i] * 2;";

RawKernelDefinition doubler() {
  return {.name = "doubler",
          .inputs = {"const float* i0"},
          .outputs = {"float* o0"},
          .scalars = {"int size"},
          .body = kDouble};
}

TEST(RawParameter, ReadsCDeclarations) {
  const std::pair<const char*, DType> cases[] = {
      {"const float* x", float32},   {"const double * __restrict__ x", float64},
      {"float const* x", float32},   {"const unsigned char* x", uint8},
      {"const long long* x", int64}, {"const int32_t *x", int32},
      {"const half* x", float16},    {"const __nv_bfloat16* x", bfloat16},
      {"const bool* x", bool_}};
  for (const auto& [text, dtype] : cases) {
    const RawParameter parameter = parse_parameter(text);
    EXPECT_EQ(parameter.dtype, dtype) << text;
    EXPECT_EQ(parameter.name, "x") << text;
    EXPECT_TRUE(parameter.is_pointer && parameter.is_const) << text;
  }
  const RawParameter strided = parse_parameter("strided const float* x");
  EXPECT_TRUE(strided.is_strided);
  EXPECT_EQ(strided.declaration.find("strided"), std::string::npos);
  EXPECT_FALSE(parse_parameter("int n").is_pointer);
}

TEST(RawParameter, RefusesWhatItCannotRead) {
  for (const char* text : {"", "float", "const float*", "complex* x", "float** x", "const float* 3", "unsigned int"}) {
    EXPECT_THAT(error_of([&] { parse_parameter(text); }), HasSubstr("cannot read the declaration")) << text;
  }
}

TEST(RawKernel, RefusesDefinitionsThatMakeNoSense) {
  const auto error = [](auto change) {
    RawKernelDefinition definition = doubler();
    change(definition);
    return error_of([&] { RawKernel{definition}; });
  };
  EXPECT_THAT(error([](auto& d) { d.name = ""; }), HasSubstr("needs a name"));
  EXPECT_THAT(error([](auto& d) { d.body = ""; }), HasSubstr("either .body or .source"));
  EXPECT_THAT(error([](auto& d) { d.source = "x"; }), HasSubstr("either .body or .source"));
  EXPECT_THAT(error([](auto& d) { d.inputs = {"float* x"}; }), HasSubstr("write const"));
  EXPECT_THAT(error([](auto& d) { d.inputs = {"const float x"}; }), HasSubstr("is no pointer"));
  EXPECT_THAT(error([](auto& d) { d.outputs = {"const float* x"}; }), HasSubstr("cannot be written"));
  EXPECT_THAT(error([](auto& d) { d.outputs = {"strided float* x"}; }), HasSubstr("C order"));
  EXPECT_THAT(error([](auto& d) { d.scalars = {"int many"}; }), HasSubstr("no value for the scalar \"int many\""));
  EXPECT_THAT(error([](auto& d) { d.scalars = {"int many"}; }), HasSubstr("in RawKernel doubler"));
  EXPECT_THAT(error([](auto& d) { d.name = "two words"; }), HasSubstr("cannot be called so"));
  EXPECT_THAT(error([](auto& d) { d.outputs = {"float* i0"}; }), HasSubstr("two parameters are called i0"));
  EXPECT_THAT(error([](auto& d) { d.outputs = {"float* new"}; }), HasSubstr("a parameter is called new, which is a word of C++\n  in RawKernel doubler at "));
  EXPECT_THAT(error([](auto& d) { d.inputs = {"const float* threadIdx"}; }), HasSubstr("a parameter is called threadIdx, which is a variable of CUDA C"));
}

RawKernelDefinition adder() {
  return {.name = "adder",
          .inputs = {"float* total", "const float* x"},
          .outputs = {"float* total"},
          .scalars = {"int total_size"},
          .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < total_size) total[i] += x[i];",
          .overwrites = {"total"}};
}

TEST(RawKernel, HasOneParameterForWhatItOverwrites) {
  const RawKernelOp op(adder());
  EXPECT_EQ(op.overwrites(0), 0);
  EXPECT_THAT(op.source(), HasSubstr("adder(float * total, const float * x, int total_size)"));
  EXPECT_EQ(op.parameter_cells(), (std::vector<int>{2, 1}));
  RawKernelDefinition last = adder();
  last.inputs = {"const float* x", "float* total"};
  last.outputs = {"int* count", "float* total"};
  const RawKernelOp other(last);
  EXPECT_EQ(other.overwrites(0), -1);
  EXPECT_EQ(other.overwrites(1), 1);
  EXPECT_EQ(other.parameter_cells(), (std::vector<int>{0, 3, 2}));
  const RawKernel kernel{last};
  const auto outputs = kernel.outputs({matrix("x"), input({float32, {7}}, "total")});
  EXPECT_EQ(outputs[1].dims(), (Shape{7})) << "its input's shape, though .shapes says the first input's";
  EXPECT_FALSE(RawKernelOp(last).equals(op));
  EXPECT_TRUE(RawKernelOp(adder()).equals(op));
}

TEST(RawKernel, RefusesToOverwriteWhatIsNotDeclaredForIt) {
  const auto error = [](auto change) {
    RawKernelDefinition definition = adder();
    change(definition);
    return error_of([&] { RawKernel{definition}; });
  };
  EXPECT_EQ(error([](auto&) {}), "nothing thrown");
  EXPECT_THAT(error([](auto& d) {
                d.overwrites = {"sum"};
                d.inputs[0] = "const float* total";
              }),
              HasSubstr(".overwrites names \"sum\", which is no input"));
  EXPECT_THAT(error([](auto& d) {
                d.overwrites = {"x"};
                d.inputs = {"const float* total", "float* x"};
                d.outputs = {"float* y"};
              }),
              HasSubstr(".overwrites names \"x\", which is no output"));
  EXPECT_THAT(error([](auto& d) { d.inputs[0] = "const float* total"; }),
              HasSubstr("\"const float* total\" is overwritten and declared const"));
  EXPECT_THAT(error([](auto& d) { d.inputs[0] = "strided float* total"; }),
              HasSubstr("is overwritten and declared strided"));
  EXPECT_THAT(error([](auto& d) { d.outputs[0] = "double* total"; }),
              HasSubstr("declarations differ: float * total and double * total"));
  EXPECT_THAT(error([](auto& d) { d.overwrites = {"total", "total"}; }), HasSubstr("\"total\" twice"));
  EXPECT_THAT(error([](auto& d) { d.overwrites.clear(); }), HasSubstr("can be written"));
  EXPECT_THAT(error([](auto& d) { d.overwrites.clear(); }), HasSubstr("in .overwrites"));
  EXPECT_THAT(error([](auto& d) {
                d.overwrites.clear();
                d.inputs[0] = "const float* total";
              }),
              HasSubstr("two parameters are called total"));
}

TEST(RawKernel, HasTheGradientOfItsDefinition) {
  const Variable x = vector("x");
  const RawKernel without{doubler()};
  EXPECT_THAT(error_of([&] { lop(without(x), x, x); }), HasSubstr("the RawKernel doubler has no .gradient"));
  RawKernelDefinition definition = doubler();
  definition.gradient = [](auto g, auto in, auto out) {
    EXPECT_EQ(in.size() + out.size() + g.size(), 3u);
    return g[0] * 2.0;
  };
  const RawKernel kernel{definition};
  EXPECT_EQ(lop(kernel(x), x, x).type(), x.type());
  EXPECT_TRUE(RawKernelOp(definition).equals(RawKernelOp(doubler()))) << "a gradient changes no value";
  definition.gradient = [](auto g, auto, auto) { return std::vector<Gradient>{g[0], g[0]}; };
  EXPECT_THAT(error_of([&] { lop(RawKernel{definition}(x), x, x); }),
              HasSubstr("doubler: its gradient gave 2 gradients for 1 inputs"));
}

TEST(RawKernel, ChecksDtypesAtTheLineOfTheCall) {
  const RawKernel kernel{doubler()};
  const Variable x = vector("x", float64);
  const std::string text = error_of([&] { kernel(x); });
  EXPECT_THAT(text, HasSubstr("doubler: input 0 is declared const float * i0, it is float64"));
  EXPECT_THAT(text, HasSubstr("raw_kernel_test.cpp:" + std::to_string(__LINE__ - 2)));
  EXPECT_THAT(text, HasSubstr("cast(x, float32)"));
  EXPECT_THAT(error_of([&] { kernel(vector("x"), vector("y")); }), HasSubstr(": takes 1 input, 2 were given"));
}

TEST(RawKernel, InfersTypesFromItsRule) {
  EXPECT_EQ(RawKernel{doubler()}(matrix("x")).type(), (TensorType{float32, {kUnknown, kUnknown}}));
  EXPECT_EQ(RawKernel{doubler()}(input({float32, {3, kUnknown}})).dims(), (Shape{3, kUnknown}));
  RawKernelDefinition halves = doubler();
  halves.shapes = [](std::span<const Shape> in) { return std::vector<Shape>{{in[0][0] / 2}}; };
  const RawKernel half{halves};
  EXPECT_EQ(half(vector("x")).dims(), (Shape{kUnknown}));
  EXPECT_EQ(half(input({float32, {8}})).dims(), (Shape{4}));
  RawKernelDefinition two = doubler();
  two.outputs = {"float* o0", "double* o1"};
  const auto outputs = RawKernel{two}.outputs({vector("x")});
  EXPECT_EQ(outputs[1].type(), (TensorType{float64, {kUnknown}}));
  RawKernelDefinition pair = doubler();
  pair.inputs = {"const float* a", "const float* b"};
  pair.shapes = broadcast_of_inputs;
  EXPECT_EQ(RawKernel{pair}(input({float32, {3, 1}}), input({float32, {4}})).dims(), (Shape{3, 4}));
  pair.shapes = same_as(1);
  EXPECT_EQ(RawKernel{pair}(input({float32, {3, 1}}), input({float32, {4}})).dims(), (Shape{4}));
}

TEST(RawKernel, SaysThatItsShapeRuleWasAskedWithAStandIn) {
  RawKernelDefinition three = doubler();
  three.shapes = [](std::span<const Shape> in) {
    if (in[0][0] != 3) throw ShapeError("takes 3 elements");
    return std::vector<Shape>{{3}};
  };
  const RawKernel kernel{three};
  EXPECT_EQ(kernel(input({float32, {3}})).dims(), (Shape{3}));
  const std::string text = error_of([&] { kernel(vector("x")); });
  EXPECT_THAT(text, HasSubstr("takes 3 elements"));
  EXPECT_THAT(text, HasSubstr("asked with 1024 for each unknown extent"));
}

TEST(RawKernel, OfEqualTextAndRulesIsAnEqualOp) {
  const auto op = [](RawKernelDefinition definition) {
    return std::make_shared<const RawKernelOp>(std::move(definition));
  };
  const auto first = op(doubler());
  EXPECT_TRUE(first->equals(*op(doubler())));
  EXPECT_EQ(first->hash(), op(doubler())->hash());
  RawKernelDefinition other = doubler();
  other.launch = one_thread_each(256);
  EXPECT_FALSE(first->equals(*op(other)));
  other = doubler();
  other.body = "o0[0] = 1;";
  EXPECT_FALSE(first->equals(*op(other)));
  other = doubler();
  other.shapes = [](std::span<const Shape> in) { return std::vector<Shape>{in[0]}; };
  EXPECT_FALSE(first->equals(*op(other)));
  EXPECT_TRUE(op(other)->equals(*op(other))) << "copies of one lambda";
}

TEST(RawKernel, ComputesScalarsFromTheirNames) {
  RawKernelDefinition definition = doubler();
  definition.inputs = {"strided const float* x"};
  definition.scalars = {"long long n", "int x_size", "int x_dim1", "long long o0_stride0", "float factor"};
  definition.values = [](const KernelShapes&) { return std::vector<Scalar>{2.5f}; };
  const RawKernelOp op(definition);
  using Fact = RawScalar::Fact;
  const Fact facts[] = {Fact::kSize, Fact::kSize, Fact::kExtent, Fact::kStride, Fact::kGiven};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(op.scalars()[i].fact, facts[i]) << i;
  EXPECT_EQ(op.scalars()[0].array, 1);
  EXPECT_EQ(op.scalars()[2].axis, 1);
  EXPECT_EQ(op.scalars()[3].array, 1);
}

TEST(RawKernel, NamesTheLineOfItsText) {
  RawKernelDefinition definition = doubler();
  definition.body = R"(
    first;)";
  const std::string line = "#line " + std::to_string(__LINE__ - 2) + " \"";
  EXPECT_THAT(RawKernel{definition}.source(), HasSubstr(line));
}

}  // namespace
}  // namespace damo
