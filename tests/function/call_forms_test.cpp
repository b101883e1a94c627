// Calls by name and with defaults, copies with other shared variables, parts of a Function.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class CallFormsOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Array number(float value) const { return Array::scalar(value, device()); }
};

TEST_P(CallFormsOnEachDevice, TakesInputsByName) {
  const auto x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {x - y}, {.device = device()});
  EXPECT_THAT(Array(f.call_named({{"y", array({1, 2})}, {"x", array({5, 5})}})).to_vector<float>(), ElementsAre(4, 3));
  const Array a = array({1, 2});
  EXPECT_THAT(error_of([&] { f.call_named({{"z", a}, {"x", a}}); }), HasSubstr("the function has no input 'z'"));
  EXPECT_THAT(error_of([&] { f.call_named({{"z", a}}); }), HasSubstr("its inputs: x, y"));
  EXPECT_THAT(error_of([&] { f.call_named({{"x", a}, {"x", a}}); }), HasSubstr("input 'x' is given twice"));
  EXPECT_THAT(error_of([&] { f.call_named({{"x", a}}); }), HasSubstr("input 1 (y) is not given and has no default"));
  EXPECT_THAT(error_of([&] { f.call_named({{"x", a}, {"y", Array()}}); }), HasSubstr("input 1 (y) is an empty Array"));
  const auto other = vector("x");
  const Function twins = function({x, other}, {x - other}, {.device = device()});
  EXPECT_THAT(error_of([&] { twins.call_named({{"x", a}}); }), HasSubstr("input 'x' is the name of inputs 0 and 1"));
}

TEST_P(CallFormsOnEachDevice, FillsInDefaults) {
  const auto x = vector("x"), scale = scalar("scale"), shift = scalar("shift");
  const Function f = function({x, scale, shift}, {x * scale + shift}, {.device = device(), .defaults = {{scale, number(10)}, {shift, number(1)}}});
  const Array a = array({1, 2});
  EXPECT_THAT(Array(f(a)).to_vector<float>(), ElementsAre(11, 21));
  EXPECT_THAT(Array(f(a, number(2))).to_vector<float>(), ElementsAre(3, 5));
  EXPECT_THAT(Array(f(a, number(2), number(0))).to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(Array(f.call_named({{"shift", number(3)}, {"x", a}})).to_vector<float>(), ElementsAre(13, 23));
  EXPECT_THAT(Array(f(a)).to_vector<float>(), ElementsAre(11, 21)) << "a default stays what it is";
  EXPECT_THAT(error_of([&] { f(); }), HasSubstr("the function takes 3 inputs, 0 were given"));
  const auto build = [&](std::vector<InputDefault> defaults) { return error_of([&] { function({x, scale, shift}, {x * scale + shift}, {.device = device(), .defaults = std::move(defaults)}); }); };
  EXPECT_THAT(build({{vector("z"), a}}), AllOf(HasSubstr("defaults: z float32 (?,) is no input of the function"), HasSubstr("defaults built at "), HasSubstr("call_forms_test.cpp:")));
  EXPECT_THAT(build({{x, a}, {x, a}}), HasSubstr("defaults: x float32 (?,) is given twice"));
  EXPECT_THAT(build({{scale, a}}), HasSubstr("defaults: scale float32 () cannot be float32 (2,)"));
  EXPECT_THAT(build({{x, Array::zeros({2}, float64, device())}}), HasSubstr("cannot be float64 (2,)"));
  EXPECT_THAT(build({{x, Array()}}), HasSubstr("is an empty Array"));
}

TEST(CallForms, WarnsOfUnusedInputs) {
  const auto x = vector("x"), y = vector("y");
  std::string lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines += std::string(line) + "\n"; });
  function({x, y}, {x + 1.0}, {.device = Device("null"), .warn_of_unused_inputs = true});
  EXPECT_THAT(lines, HasSubstr("function: input 1 (y float32 (?,)) is used by no output"));
  lines.clear();
  function({x, y}, {x + 1.0}, {.device = Device("null"), .allow_unused_inputs = true, .warn_of_unused_inputs = true});
  function({x}, {x + 1.0}, {.device = Device("null"), .warn_of_unused_inputs = true});
  EXPECT_THAT(lines, Not(HasSubstr("is used by no output")));
  set_log_sink({});
}

TEST_P(CallFormsOnEachDevice, CopiesHaveOtherSharedVariables) {
  const auto x = vector("x");
  const Shared w = shared("w", array({1, 2})), b = shared("b", array({10, 10})), v = shared("v", array({100, 200}));
  const Function f = function({x}, {x * w + b}, {.device = device(), .updates = {{w, w + x}}});
  const Function g = f.copy({{w, v}});
  const Array one = array({1, 1});
  EXPECT_THAT(Array(g(one)).to_vector<float>(), ElementsAre(110, 210));
  EXPECT_THAT(v.array().to_vector<float>(), ElementsAre(101, 201)) << "the update goes to the other one";
  EXPECT_THAT(w.array().to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(Array(f(one)).to_vector<float>(), ElementsAre(11, 12));
  b.set(array({0, 0}));
  EXPECT_THAT(Array(g(one)).to_vector<float>(), ElementsAre(101, 201)) << "what is not swapped is shared";
  const Function same = f.copy();
  EXPECT_THAT(Array(same(one)).to_vector<float>(), ElementsAre(2, 3)) << "the same variables";
  EXPECT_THAT(Array(f.copy({{w, b}, {b, w}})(one)).to_vector<float>(), ElementsAre(3, 4)) << "all at once: x * b + w";
}

TEST_P(CallFormsOnEachDevice, CopiesExchangeSharedVariablesWithTheirUpdates) {
  const auto x = vector("x");
  const Shared p = shared("p", array({1, 2})), q = shared("q", array({10, 20}));
  const Function f = function({x}, {x * p - q}, {.device = device(), .updates = {{p, p + q}, {q, q * 2.0}}});
  const Function g = f.copy({{p, q}, {q, p}});
  const Array one = array({1, 1});
  for (const Function& exchanged : {g, f.copy({{q, p}, {p, q}})}) {
    p.set(array({1, 2})), q.set(array({10, 20}));
    EXPECT_THAT(Array(exchanged(one)).to_vector<float>(), ElementsAre(9, 18)) << "x * q - p";
    EXPECT_THAT(q.array().to_vector<float>(), ElementsAre(11, 22)) << "q + p";
    EXPECT_THAT(p.array().to_vector<float>(), ElementsAre(2, 4)) << "p * 2";
  }
  EXPECT_THAT(Array(g.copy({{p, q}, {q, p}})(one)).to_vector<float>(), ElementsAre(2 - 11, 4 - 22)) << "exchanged again, it is f";
  const Shared r = shared("r", array({100, 200}));
  p.set(array({1, 2})), q.set(array({10, 20}));
  EXPECT_THAT(Array(f.copy({{p, q}, {q, r}})(one)).to_vector<float>(), ElementsAre(-90, -180)) << "x * q - r: what comes in the place of one is not swapped again";
  EXPECT_THAT(q.array().to_vector<float>(), ElementsAre(110, 220));
  EXPECT_THAT(r.array().to_vector<float>(), ElementsAre(200, 400));
  EXPECT_THAT(p.array().to_vector<float>(), ElementsAre(1, 2));
}

TEST_P(CallFormsOnEachDevice, CopiesSayWhatCannotBeSwapped) {
  const auto x = vector("x");
  const Shared w = shared("w", array({1, 2})), b = shared("b", array({1, 2})), wide = shared("wide", Array::zeros({2}, float64, device())), longer = shared("longer", array({1, 2, 3}));
  const Function f = function({x}, {x * w + b}, {.device = device()});
  EXPECT_THAT(error_of([&] { f.copy({{x, w}}); }), AllOf(HasSubstr("copy: x float32 (?,) is not a shared variable"), HasSubstr("copy built at "), HasSubstr("call_forms_test.cpp:")));
  EXPECT_THAT(error_of([&] { f.copy({{w, x}}); }), AllOf(HasSubstr("copy: w float32 (2,) is swapped for x float32 (?,), which is not a shared variable"), HasSubstr("copy built at "), HasSubstr("call_forms_test.cpp:")));
  EXPECT_THAT(error_of([&] { f.copy({{wide, w}}); }), AllOf(HasSubstr("copy: wide float64 (2,) is swapped for w float32 (2,)"), HasSubstr("copy built at "), HasSubstr("call_forms_test.cpp:")));
  EXPECT_THAT(error_of([&] { f.copy({{longer, longer}}); }), AllOf(HasSubstr("copy: longer float32 (3,) is no shared variable of the function"), HasSubstr("copy built at "), HasSubstr("call_forms_test.cpp:")));
  EXPECT_THAT(error_of([&] { f.copy({{w, longer}}); }), AllOf(HasSubstr("copy: w float32 (2,) is swapped for longer float32 (3,)"), HasSubstr("copy built at "), HasSubstr("call_forms_test.cpp:")));
  EXPECT_THAT(error_of([&] { f.copy({{w, b}}); }), AllOf(HasSubstr("copy: one shared variable would stand for two"), HasSubstr("copy built at "), HasSubstr("call_forms_test.cpp:")));
  EXPECT_THAT(error_of([&] { f.copy({{w, w}, {w, w}}); }), AllOf(HasSubstr("copy: w float32 (2,) is swapped twice"), HasSubstr("copy built at "), HasSubstr("call_forms_test.cpp:")));
}

TEST_P(CallFormsOnEachDevice, PartsComputeNoMoreThanTheyNeed) {
  const auto x = matrix("x");
  const Shared count = shared("count", number(0));
  const Variable h = exp(x);
  const Function f = function({x}, {h + 1.0, sum(h, 0), dot(x, x)}, {.device = device(), .updates = {{count, count + 1.0}}});
  const Array a = array({0, 0, 0, 0}, {2, 2});
  const Function sums = f.part({1}), values = f.part({2, 0}, false);
  EXPECT_THAT(Array(sums(a)).to_vector<float>(), ElementsAre(2, 2));
  EXPECT_EQ(count.array().item().as_double(), 1);
  const Results two = values(a);
  EXPECT_THAT(two[0].to_vector<float>(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(two[1].to_vector<float>(), ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(count.array().item().as_double(), 1) << "without updates";
  EXPECT_EQ(values.graph().node_count(), 2) << "a product and a kernel without the sum";
  EXPECT_EQ(f.part({0}, false).graph().node_count(), 1);
  EXPECT_THAT(error_of([&] { f.part({3}); }), AllOf(HasSubstr("part: there is no result 3: the function has 3"), HasSubstr("part built at "), HasSubstr("call_forms_test.cpp:")));
}

DAMO_ON_EACH_DEVICE(CallFormsOnEachDevice);

}  // namespace
}  // namespace damo
