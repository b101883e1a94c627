// Elements out of several tensors, and grids, of Variables and of Arrays, against NumPy 2.3 (values written down).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ChooseOnEachDevice : public testing::OnEachDevice {
 protected:
  Array of(const std::vector<double>& values) const { return Array::from(values, device()); }
  template <class T>
  Array integers(const std::vector<T>& values) const { return Array::from(values, device()); }
};

TEST_P(ChooseOnEachDevice, ChooseTakesFromTheChoiceThatIsNumbered) {
  const Array which = integers<int>({0, 2, 1, -1}), x = of({1, 2, 3, 4}), y = of({10, 20, 30, 40}), z = of({100});
  EXPECT_THAT(choose(which, {x, y, z}).to_doubles(), ElementsAre(1, 100, 30, 100));
  const Variable k = vector("k", int32), a = vector("a", float64), b = vector("b", float64), c = input({float64, {1}}, "c");
  const Function f = function({k, a, b, c}, {choose(k, {a, b, c}), grad(sum(choose(k, {a, b, c})), b)}, options());
  const Results results = f(which, x, y, z);
  EXPECT_THAT(results[0].to_doubles(), ElementsAre(1, 100, 30, 100));
  EXPECT_THAT(results[1].to_doubles(), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(error_of([&] { choose(a, {b}); }), HasSubstr("choose: `which` is float64, which numbers nothing"));
  EXPECT_THAT(error_of([&] { choose(k, std::span<const Variable>()); }), HasSubstr("choose: there are no choices"));
  EXPECT_THAT(error_of([&] { choose(integers<int>({3}), {x, y, z}).to_doubles(); }), HasSubstr("3"));
}

TEST_P(ChooseOnEachDevice, ChooseHasTheDtypeOfAllChoicesAtOnce) {  // two after two, the first and the second would make it float32
  const Array which = integers<int>({0, 2, 1}), x = astype(of({1, 2, 3}), uint8), y = astype(of({-1, -2, -3}), int8), z = astype(of({0.5, 1.5, 2.5}), float16);
  const Variable k = vector("k", int32), a = vector("a", uint8), b = vector("b", int8), c = vector("c", float16), chosen = choose(k, {a, b, c});
  EXPECT_EQ(chosen.dtype(), float16);
  EXPECT_THAT(function({k, a, b, c}, {chosen}, options())(which, x, y, z)[0].to_doubles(), ElementsAre(1, 1.5, -3));
  EXPECT_EQ(choose(which, {x, y, z}).dtype(), float16);
}

TEST_P(ChooseOnEachDevice, MeshgridStretchesEachVectorAlongItsAxis) {
  const Array x = integers<int>({1, 2, 3}), y = of({0.5, 1.5});
  const std::vector<Array> xy = meshgrid({x, y}), ij = meshgrid({x, y}, "ij");
  EXPECT_EQ(xy[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(xy[0].dtype(), int32);
  EXPECT_THAT(xy[0].to_doubles(), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(xy[1].to_doubles(), ElementsAre(0.5, 0.5, 0.5, 1.5, 1.5, 1.5));
  EXPECT_THAT(ij[0].to_doubles(), ElementsAre(1, 1, 2, 2, 3, 3));
  const Variable a = vector("a", int32), b = vector("b", float64);
  const std::vector<Variable> grids = meshgrid({a, b, a});
  const Results results = function({a, b}, {grids[0], grids[1], grids[2]}, options())(x, y);
  EXPECT_EQ(results[0].shape(), (Shape{2, 3, 3}));
  EXPECT_THAT(results[2].slice({{0, 1}, {0, 1}}).to_doubles(), ElementsAre(1, 2, 3));
  EXPECT_EQ(results[1].dtype(), float64);
  EXPECT_THAT(error_of([&] { meshgrid({a, b}, "yx"); }), HasSubstr("meshgrid: indexing is \"yx\""));
  EXPECT_THAT(error_of([&] { meshgrid({matrix("m")}); }), HasSubstr("meshgrid: input 0 has 2 axes, not 1"));
}

DAMO_ON_EACH_DEVICE(ChooseOnEachDevice);

}  // namespace
}  // namespace damo
