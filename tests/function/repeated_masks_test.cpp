// Masks that several kernels of a Function make again, none of which leaves them in memory (ops/rewrites/fusion_repeats.hpp).
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

class RepeatedMasks : public testing::OnEachDevice {
 protected:
  Array numbers(const Shape& shape) const {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761u % 1009u) / 100 - 5;
    return Array::from(values, shape, device());
  }
};

TEST_P(RepeatedMasks, OfASoftmaxAndItsGradientAreNoArrays) {
  const Variable s = input({float32, {3, 20, 20}}, "s"), v = input({float32, {3, 20, 7}}, "v"), lengths = input({int64, {3}}, "lengths");
  const Variable causal = le(index_along(s, 2), index_along(s, 1)), padded = lt(index_along(s, 2), dimshuffle(lengths, {0, -1, -1}));
  for (const Variable& mask : {causal, padded}) {
    const Variable loss = mean(sqr(matmul(softmax(where(mask, s * 0.125, -std::numeric_limits<double>::infinity()), 2), v))), by = grad(loss, s);
    const Options together{.device = device(), .allow_unused_inputs = true};
    Options apart = together;
    apart.fuse = false;
    const Function f = function({s, v, lengths}, {loss, by}, together), plain = function({s, v, lengths}, {loss, by}, apart);
    EXPECT_THAT(f.explain(), Not(HasSubstr("bool (3, 20, 20)")));
    const Array scores = numbers({3, 20, 20}), others = numbers({3, 20, 7}), of = Array::from(std::vector<std::int64_t>{20, 1, 9}, Shape{3}, device());
    const Results found = f(scores, others, of), wanted = plain(scores, others, of);
    for (int i = 0; i < 2; ++i) EXPECT_THAT(found[i].to_doubles(), Pointwise(DoubleNear(1e-6), wanted[i].to_doubles())) << i;
  }
}

DAMO_ON_EACH_DEVICE(RepeatedMasks);

}  // namespace
}  // namespace damo
