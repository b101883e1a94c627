// Way 1 of a custom op: a scalar row. One C++ expression on x0, x1, ... and the op is there: it broadcasts, takes every
// floating dtype, runs on each device and fuses with what stands around it. No class, and Damo is not rebuilt.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

// T is the type that the row computes in. T(0.5), not 0.5: a bare 0.5 is a double.
inline const Elementwise soft_clip{{
    .name = "soft_clip",
    .doc = "x where |x| <= limit, and from there on with a tenth of the slope",
    .code = "fabs(x0) <= x1 ? x0 : copysign(x1 + T(0.1) * (fabs(x0) - x1), x0)",
}};

int main() {
  const Variable x = matrix("x"), limit = vector("limit");  // limit has one value for each column
  const Function f = function({x, limit}, {2.0 * soft_clip(x + 1.0, limit) - x});
  std::cout << "kernels: " << f.graph().node_count() << "\n" << debugprint(f.graph());

  const Array z = f(Array::from<float>({0, 2, -4, 9}, {2, 2}), Array::from<float>({1.5f, 2.5f}));
  std::cout << z << "\n";

  // By hand. Row 0: x + 1 is 1 and 3, the second beyond 2.5 by 0.5. Row 1: -3 is beyond 1.5 by 1.5, 10 beyond 2.5
  // by 7.5.
  const float expected[] = {2 * 1.0f - 0, 2 * 2.55f - 2, 2 * -1.65f + 4, 2 * 3.25f - 9};
  bool right = f.graph().node_count() == 1;  // five ops, of which one is ours: one kernel
  for (std::size_t i = 0; i < 4; ++i) right &= std::fabs(z.to_vector<float>()[i] - expected[i]) < 1e-5f;
  std::cout << (right ? "right: one kernel came out\n" : "WRONG\n");
  return right ? 0 : 1;
}
