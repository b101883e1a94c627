// verify_grad: gradients held against central differences, for tests of ops and models.
//
//   verify_grad([](auto x) { return tanh(x[0] * x[1]); }, {Array::from(...), Array::from(...)});
//
// The values y of the graph are projected on random numbers p of their shape: the gradient of sum(p y) by each element must be
// (sum(p y(x + h)) - sum(p y(x - h))) / 2h. Everything is in float64, whatever the points' dtype, but for what the graph casts itself; points that
// are no floats stay what they are and get no gradient. A gradient that is said to be disconnected is held against 0. Points at kinks have no difference:
// choose others. Cost: two calls an element of the largest point; several cases share their calls and are compiled together,
// a kernel an op, so that kernels are few and small.
// See tests/function/verify_grad_test.cpp, which runs it for every op that has a gradient.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// A gradient that differs from its difference: names the case, the input, the element and its value, both gradients and what was allowed.
struct GradientError : UserError {
  using UserError::UserError;
};

/// A floating result, from Variables of the points' dtypes (floats: float64) and extents.
using GradientGraph = std::function<Variable(std::span<const Variable> inputs)>;

struct GradientCase {
  std::string name;
  GradientGraph graph;
  std::vector<Array> points;
};

struct VerifyGradOptions {
  double step = 1e-5;       ///< h of an element x is step * max(1, |x|)
  double tolerance = 1e-6;  ///< the difference may be tolerance * max(1, |gradient|, largest |p y|)
  std::uint64_t seed = 1;   ///< of the projection
  std::optional<Device> device = {};  ///< default: Device(). Points are copied there.
};

/// Throws GradientError for the worst difference that is beyond the tolerance, TypeError for a result that is not floating, and what building and calling
/// the graph throws.
void verify_grad(const GradientGraph& graph, std::vector<Array> points, const VerifyGradOptions& options = {});
/// All cases in one Function of values and one of gradients. The error names the worst of each case that differs.
void verify_grad(std::span<const GradientCase> cases, const VerifyGradOptions& options = {});

}  // namespace damo
