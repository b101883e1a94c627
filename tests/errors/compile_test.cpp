// Kernels that do not compile: the user's own line, the compiler's words, the numbered source.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A CUDA C kernel of the test's.
class SourceOp final : public Op {
 public:
  SourceOp(std::string source, std::string kernel) : source_(std::move(source)), kernel_(std::move(kernel)) {}
  std::string name() const override { return "from_source"; }
  Props props() const override { return {{"source", source_}}; }
  Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Kernel kernel = context.compile(source_, kernel_);
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.output());
    return [=, &x, &y] { kernel.launch_1d(x.size(), x.array(), y.array(), static_cast<int>(x.size())); };
  }

 private:
  std::string source_, kernel_;
};

class CompileErrorOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  std::string error(const Variable& y) const {
    return error_of([&] { function({x_}, {y}, {.device = device()}); });
  }
  const Variable x_ = vector("x");
};

TEST_P(CompileErrorOnEachDevice, NamesLineAndColumnOfCudaC) {
  const auto op = make_op<SourceOp>("extern \"C\" __global__ void twice(const float* x, float* y, int n) {\n"
                                    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                    "  if (i < n) y[i] = twise * x[i];\n"
                                    "}\n", "twice");
  const std::string text = error(op(x_));
  EXPECT_THAT(text, AllOf(HasSubstr("twice.cu"), HasSubstr("twise"), HasSubstr("   3 |   if (i < n) y[i] = twise * x[i];")));
  const bool cuda = device().kind() == DeviceKind::kCuda;
  EXPECT_THAT(text, HasSubstr(cuda ? "twice.cu(3)" : "twice.cu:3:21"));
  EXPECT_THAT(text, AllOf(HasSubstr("from_source built at "), HasSubstr("errors/compile_test.cpp:")));
}

TEST_P(CompileErrorOnEachDevice, NamesAKernelThatTheSourceDoesNotHave) {
  const auto op = make_op<SourceOp>("extern \"C\" __global__ void twice(const float* x, float* y, int n) {}\n", "thrice");
  EXPECT_THAT(error(op(x_)), AllOf(HasSubstr("thrice"), HasSubstr("from_source built at ")));
}

TEST_P(CompileErrorOnEachDevice, NamesTheLineOfAUsersRow) {
  static const Elementwise broken{{.name = "broken_row", .doc = "calls what is not there", .code = "missing_function(x0)"}};
  const int line = broken.row().line;
  const std::string text = error(broken(x_) + 1.0);
  EXPECT_THAT(text, HasSubstr("missing_function"));
  EXPECT_THAT(text, ::testing::ContainsRegex("compile_test\\.cpp[:(]" + std::to_string(line)));
  EXPECT_THROW(function({x_}, {broken(x_)}, {.device = device()}), CompileError);
}

TEST_P(CompileErrorOnEachDevice, LeavesTheDeviceWorking) {
  const auto op = make_op<SourceOp>("this is no program", "none");
  EXPECT_THAT(error(op(x_)), HasSubstr("this is no program"));
  EXPECT_THAT(Array(function({x_}, {x_ + 1.0}, {.device = device()})(array({1}))).to_vector<float>(), ::testing::ElementsAre(2));
}

TEST_P(CompileErrorOnEachDevice, FindsALaunchBeyondTheLimits) {
  class WideOp final : public Op {
   public:
    std::string name() const override { return "wide"; }
    Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
    Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
    Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
      const Kernel kernel = context.compile("extern \"C\" __global__ void k(float* y) { y[0] = 1.0f; }", "k");
      Cell& y = context.storage(node.output());
      return [=, &y] { kernel.launch({.block = {y.shape()[0]}}, y.array()); };
    }
  };
  const auto op = make_op<WideOp>();
  const Function f = function({x_}, {op(x_)}, {.device = device()});
  const Array large = range({5000});
  const std::string text = error_of([&] { f(large); });
  EXPECT_THAT(text, AllOf(HasSubstr("launch of 'k': block of 5000"), HasSubstr("node 1 of 1, wide built at "), HasSubstr("x float32 (5000,)")));
  EXPECT_THROW(f(large), DeviceError);
  EXPECT_EQ(large.to_vector<float>()[4999], 4999);
  EXPECT_EQ(Array(f(array({3, 3}))).to_vector<float>()[0], 1);
}

TEST(RowErrors, NameWhatIsWrongWithARow) {
  EXPECT_THAT(error_of([] { Elementwise({.name = "nothing", .doc = "no input", .code = "T(1)"}); }), StartsWith("row 'nothing': its code names no input"));
  EXPECT_THAT(error_of([] { Elementwise({.name = "", .doc = "", .code = "x0"}); }), HasSubstr("a row needs a name"));
  EXPECT_EQ(find_elementwise("nothing"), nullptr);
  const auto problem = [](const char* code) { return error_of([&] { Elementwise({.name = "open", .code = code}); }); };
  EXPECT_THAT(problem("x0 + T(1"), StartsWith("row 'open': a ')' is missing in its code 'x0 + T(1'"));
  EXPECT_THAT(problem("x0); } void f() { (1"), StartsWith("row 'open': a ')' closes nothing in its code"));
  EXPECT_THAT(problem("x0 + (T(1)]"), StartsWith("row 'open': a ']' closes nothing in its code"));
  EXPECT_THAT(problem("x0 // )\n + (1 // )"), StartsWith("row 'open': a ')' is missing in its code"));
  EXPECT_THAT(problem("x0 /* half"), StartsWith("row 'open': a comment that begins with /* does not end in its code"));
  for (const char* code : {"x0 /* ) */ + T(1'000)", "x0 + T('(') // )", "x0 + T(L')' + u8'\\'' + sizeof \")\\\")\")"}) {
    EXPECT_NO_THROW(Elementwise({.name = "open", .code = code})) << code;
  }
}

TEST_P(CompileErrorOnEachDevice, CodeOfARowMayEndInAComment) {
  const Elementwise part{{.name = "part_row", .code = "x0 / T(4)  // a quarter"}};
  const Variable x = vector("x");
  const Function f = function({x}, {part(x)}, {.device = device()});
  EXPECT_EQ(Array(f(array({3}))).to_vector<float>()[0], 0.75f);
}

TEST(RowErrors, NameBothDefinitionsOfANameThatMeetInOneGraph) {
  const Elementwise third{{.name = "part_row", .code = "x0 / T(3)", .line = 11, .file = "a.cpp"}}, fourth{{.name = "part_row", .code = "x0 / T(4)", .line = 12, .file = "b.cpp"}};
  const Variable x = vector("x");
  const std::string text = error_of([&] { function({x}, {third(x) + fourth(x)}); });
  EXPECT_THAT(text, StartsWith("row 'part_row': unlike rows of this name meet in one graph: 'x0 / T(3)' of a.cpp:11 and 'x0 / T(4)' of b.cpp:12"));
  EXPECT_THAT(text, HasSubstr("give one of them another name"));
  const Elementwise own_exp{{.name = "exp", .code = "x0 + T(1)"}};
  EXPECT_THAT(error_of([&] { function({x}, {own_exp(exp(x))}); }), AllOf(StartsWith("row 'exp': unlike rows"), HasSubstr("damo/ops/rows.inc:"), HasSubstr("compile_test.cpp:")));
}

TEST_P(CompileErrorOnEachDevice, RowsOfOneNameMayStandInGraphsOfTheirOwn) {
  for (const int number : {3, 4}) {  // made at run time
    const Elementwise part{{.name = "part_row", .code = "x0 / T(" + std::to_string(number) + ")"}};
    EXPECT_THAT(Array(function({x_}, {part(x_) + part(x_)}, {.device = device()})(array({12}))).to_vector<float>(), ::testing::ElementsAre(24.0F / static_cast<float>(number)));
    EXPECT_THAT(apply_elementwise(part.row(), {array({12})}).to_vector<float>(), ::testing::ElementsAre(12.0F / static_cast<float>(number)));
  }
}

TEST(RowErrors, NameTheInputsThatARowTakes) {
  static const Elementwise pair{{.name = "pair_row", .doc = "x - y", .code = "x0 - x1"}};
  const Variable x = vector("x");
  EXPECT_THAT(error_of([&] { pair(x); }), AllOf(HasSubstr("takes 2 inputs, 1 was given"), HasSubstr("pair_row built at ")));
}

DAMO_ON_EACH_DEVICE(CompileErrorOnEachDevice);

}  // namespace
}  // namespace damo
