// Ops that overwrite an input: results are those of a function of its inputs, memory is shared where nobody can tell.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::CallbackOp;
using damo::testing::error_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const RawKernel add_into{
    {.name = "add_into",
     .inputs = {"float* total", "const float* x"},
     .outputs = {"float* total"},
     .scalars = {"int total_size"},
     .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < total_size) total[i] += x[i];",
     .overwrites = {"total"}}};
const RawKernel swap_sum{{.name = "swap_sum",
                          .inputs = {"float* a", "float* b"},
                          .outputs = {"float* b", "float* sum", "float* a"},
                          .scalars = {"int a_size"},
                          .body = R"(
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a_size) return;
    float old = a[i];
    sum[i] = old + b[i];
    a[i] = b[i];
    b[i] = old;)",
                          .overwrites = {"a", "b"}}};

/// y = x + 1 in x's memory, on the host; notes whether it was the same memory.
class AddOneInPlaceOp final : public Op {
 public:
  struct Seen {
    std::vector<bool> in_place;
  };
  explicit AddOneInPlaceOp(Seen* seen, bool right = true) : seen_(seen), right_(right) {}
  std::string name() const override { return "add_one_in_place"; }
  Apply make_node(Inputs in) const override {
    return {*this, {in.begin(), in.end()}, {right_ ? in.at(0).type() : TensorType{float64, in.at(0).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
  int overwrites(int) const override { return 0; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &x = context.storage(node.input(0)), &y = context.storage(node.output());
    return [&x, &y, seen = seen_] {
      seen->in_place.push_back(x.array().data() == y.array().data());
      std::vector<float> values = y.array().to_vector<float>();
      for (float& value : values) value += 1;
      if (!values.empty()) y.array().copy_from(Array::from(values, y.shape(), y.array().device()));
    };
  }
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

 private:
  Seen* seen_;
  bool right_;
};

class OverwritesOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Function build(std::initializer_list<Variable> inputs, std::initializer_list<Variable> outputs) const {
    return function(inputs, outputs, {.rewrite = false, .device = device()});  // the graphs are meant as they are written
  }
  static std::vector<float> values(const Array& array) { return array.to_vector<float>(); }
  /// Whether the op of the graph runs in place, checked at a call with 1, 2, 3.
  std::vector<bool> in_place(const Variable& x, std::initializer_list<Variable> outputs) {
    seen_.in_place.clear();
    build({x}, outputs)(array({1, 2, 3}));
    return seen_.in_place;
  }
  AddOneInPlaceOp::Seen seen_;
  OpHandle<AddOneInPlaceOp> bump_ = make_op<AddOneInPlaceOp>(&seen_);
};

TEST_P(OverwritesOnEachDevice, LeaveTheCallersArraysAsTheyAre) {
  const auto total = vector("total"), x = vector("x");
  const Function f = build({total, x}, {add_into(total, x)});
  const Array a = array({1, 2, 3}), b = array({10, 20, 30});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(values(f(a, b)), ElementsAre(11, 22, 33));
  EXPECT_THAT(values(a), ElementsAre(1, 2, 3));
  EXPECT_THAT(f.explain(), HasSubstr("copies total first: it is an input of the function"));
  const auto m = matrix("m");
  const Array square = range({2, 2});
  EXPECT_THAT(values(build({m}, {add_into(transpose(m), m)})(square)), ElementsAre(0, 3, 3, 6));
  EXPECT_THAT(values(square), ElementsAre(0, 1, 2, 3));
}

TEST_P(OverwritesOnEachDevice, RunInPlaceOnATemporary) {
  const auto x = vector("x");
  const Function f = build({x}, {add_into(x * 2.0, x)});
  EXPECT_THAT(f.explain(), HasSubstr("overwrites v2 in place"));
  EXPECT_THAT(values(f(array({1, 2}))), ElementsAre(3, 6));
  EXPECT_THAT(in_place(x, {bump_(x * 2.0)}), ElementsAre(true)) << "in the result's own buffer";
  EXPECT_THAT(in_place(x, {bump_(bump_(x * 2.0)) * 3.0}), ElementsAre(true, true)) << "in the arena";
  EXPECT_THAT(in_place(x, {bump_(bump_(x))}), ElementsAre(false, true));
}

TEST_P(OverwritesOnEachDevice, CopyWhatSomebodyElseNeeds) {
  const auto x = vector("x");
  const Variable t = x * 2.0, y = bump_(t);
  EXPECT_THAT(in_place(x, {y, t}), ElementsAre(false)) << "a result";
  EXPECT_THAT(in_place(x, {y, expand_dims(t, 0)}), ElementsAre(false)) << "a result through a view";
  EXPECT_THAT(in_place(x, {y, bump_(y)}), ElementsAre(true, false)) << "the first is a result: the second copies";
  EXPECT_THAT(in_place(x, {bump_(t), bump_(t * 1.0)}), ElementsAre(true, true));
  const Variable chain = bump_(y * t);  // y * t needs what y overwrites
  EXPECT_THAT(in_place(x, {chain}), ElementsAre(false, true));
  const Function f = build({x}, {chain});
  EXPECT_THAT(values(f(array({1, 2}))), ElementsAre(7, 21));
  EXPECT_THAT(f.explain(), HasSubstr("copies v1 first: mul, built at"));
  EXPECT_THAT(f.explain(), HasSubstr("reads the old values later"));
}

TEST_P(OverwritesOnEachDevice, CopyAnInputThatTheNodeReadsTwice) {
  const auto x = vector("x");
  const Variable t = x * 2.0;
  const Function f = build({x}, {add_into(t, t)});
  EXPECT_THAT(values(f(array({1, 2}))), ElementsAre(4, 8));
  EXPECT_THAT(f.explain(), HasSubstr("copies v1 first: input 1 has the same values"));
  const Function constant_total = build({x}, {add_into(2.0, x)});
  EXPECT_THAT(values(constant_total(array({5}))), ElementsAre(7));
  EXPECT_THAT(values(constant_total(array({5}))), ElementsAre(7)) << "the constant is what it was";
  EXPECT_THAT(constant_total.explain(), HasSubstr("first: it is a constant"));
}

TEST_P(OverwritesOnEachDevice, RunAfterTheOtherReadersOfTheOldValues) {
  const auto x = vector("x");
  const Variable t = x * 2.0, opaque = bump_(x);  // what reads t beside bump_(t) cannot fuse with t
  const Variable y = bump_(t), reader = add_into(opaque, t);
  EXPECT_THAT(in_place(x, {y, reader}), ElementsAre(false, true)) << "bump_(x) copies the input, bump_(t) has waited";
  const auto results = build({x}, {y, reader}).call<2>(array({1, 2}));
  EXPECT_THAT(values(results[0]), ElementsAre(3, 5));
  EXPECT_THAT(values(results[1]), ElementsAre(4, 7));
}

TEST_P(OverwritesOnEachDevice, GoThroughViewsOfATemporary) {
  const auto x = vector("x");
  EXPECT_THAT(in_place(x, {bump_(contiguous(expand_dims(x * 2.0, 0))) * 1.0}), ElementsAre(true));
  EXPECT_THAT(in_place(x, {bump_(contiguous(expand_dims(x * 2.0, 0)))}), ElementsAre(false));
  const auto m = matrix("m");
  const Variable t = m * 2.0;
  const Function f = build({m}, {add_into(transpose(t), m)});
  EXPECT_THAT(values(f(range({2, 2}))), ElementsAre(0, 5, 4, 9));
  EXPECT_THAT(values(f(range({2, 2}).transpose())), ElementsAre(0, 4, 5, 9));
}

TEST_P(OverwritesOnEachDevice, CopyAViewWhoseElementsLieInAnotherOrder) {
  const auto m = matrix("m");
  const Function f = build({m}, {bump_(transpose(m * 2.0)) * 1.0, bump_(transpose(m + 1.0))});
  const Results results = f(range({2, 3}));
  EXPECT_THAT(values(results[0]), ElementsAre(1, 7, 3, 9, 5, 11));
  EXPECT_THAT(values(results[1]), ElementsAre(2, 5, 3, 6, 4, 7));
  EXPECT_THAT(seen_.in_place, ElementsAre(false, false));
}

TEST_P(OverwritesOnEachDevice, MayBeSeveralAndStandBesideOtherOutputs) {
  const auto x = vector("x"), y = vector("y");
  const auto outputs = swap_sum.outputs({x * 2.0, y + 1.0});  // b, sum, a
  const Function f = build({x, y}, {outputs[0], outputs[1], outputs[2]});
  const auto results = f.call<3>(array({1, 2}), array({5, 6}));
  EXPECT_THAT(values(results[0]), ElementsAre(2, 4));
  EXPECT_THAT(values(results[1]), ElementsAre(8, 11));
  EXPECT_THAT(values(results[2]), ElementsAre(6, 7));
  EXPECT_THAT(f.explain(), Not(HasSubstr("copies")));
}

TEST_P(OverwritesOnEachDevice, HoldNoResultAndAllocateNothingOnceShapesRepeat) {
  const auto x = vector("x");
  const Variable t = add_into(x * 2.0, x);
  const Function f = build({x}, {t, add_into(t * 1.5, x) - 1.0});
  const Array in = array({1, 2, 3});
  for (int i = 0; i < 2; ++i) f(in);
  const std::uint64_t before = device().memory().allocations;
  for (int i = 0; i < 5; ++i) f(in);
  EXPECT_EQ(device().memory().allocations, before);
  const auto held = f.call<2>(in);
  f(array({7, 8, 9}));
  EXPECT_THAT(values(held[0]), ElementsAre(3, 6, 9));
  for (const int n : {5, 1, 0, 3}) {
    const Results results = f(Array::ones({n}, float32, device()));
    EXPECT_THAT(values(results[0]), Each(3));
    EXPECT_THAT(values(results[1]), Each(4.5));
  }
}

TEST_P(OverwritesOnEachDevice, WorkWhereSizesDependOnData) {
  const auto x = vector("x");
  const auto positives = damo::testing::make_positives();
  const Function f = build({x}, {add_into(positives(x), positives(x) * 2.0), add_into(positives(x * -1.0), 1.0f)});
  for (int i = 0; i < 3; ++i) {
    const auto results = f.call<2>(array({1, -2, 3}));
    EXPECT_THAT(values(results[0]), ElementsAre(3, 9));
    EXPECT_THAT(values(results[1]), ElementsAre(3));
  }
}

TEST_P(OverwritesOnEachDevice, MergeAsOtherOpsDo) {
  const auto x = vector("x");
  const Variable t = x * 2.0;
  const Function f = build({x}, {add_into(t, x), add_into(t, x)});
  const auto results = f.call<2>(array({1, 2}));
  EXPECT_THAT(values(results[0]), ElementsAre(3, 6));
  EXPECT_THAT(values(results[1]), ElementsAre(3, 6));
  EXPECT_THAT(f.explain(), HasSubstr("overwrites v2 in place"));
}

TEST_P(OverwritesOnEachDevice, AreShownInPrintsAndCountedInTheProfile) {
  const auto total = vector("total"), x = vector("x");
  const Variable y = add_into(total, x);
  EXPECT_THAT(debugprint(y), HasSubstr("add_into [id A] float32 (?,) overwrites input 0"));
  EXPECT_THAT(to_dot(y), HasSubstr("add_into\\noverwrites input 0"));
  EXPECT_THAT(to_svg(y), HasSubstr("overwrites input 0"));
  const Function copies = function({total, x}, {y}, {.device = device(), .profile = true});
  const Function in_place = function({total, x}, {add_into(total * 2.0, x)}, {.device = device(), .profile = true});
  const auto bytes = [&](const Function& f) {
    f(Array::ones({1000}, float32, device()), Array::ones({1000}, float32, device()));
    for (const ProfileRow& row : f.profile().rows) {
      if (row.op == "add_into") return row.bytes;
    }
    return std::uint64_t{0};
  };
  EXPECT_EQ(bytes(in_place), 3 * 4000) << "reads two, writes one";
  EXPECT_EQ(bytes(copies), 5 * 4000) << "and copies one";
}

TEST_P(OverwritesOnEachDevice, RefuseTypesThatDiffer) {
  const auto wrong = make_op<AddOneInPlaceOp>(&seen_, false);
  const auto x = vector("x");
  const std::string text = error_of([&] { build({x}, {wrong(x)}); });
  EXPECT_THAT(text, HasSubstr("output 0 overwrites input 0, their types differ: float64 (?,) and float32 (?,)"));
  EXPECT_THAT(text, HasSubstr("add_one_in_place"));
}

DAMO_ON_EACH_DEVICE(OverwritesOnEachDevice);

}  // namespace
}  // namespace damo
