// The first page: build a graph, compile it, call it. The README shows these lines word for word.
#include <damo/damo.hpp>
#include <iostream>
#include <vector>
using namespace damo;

// a scalar op of one's own: one row, and it fuses like a built-in one
inline const Elementwise my_swish{{.name = "my_swish", .doc = "x * sigmoid(x)", .code = "x0 / (T(1) + exp(-x0))"}};

int main() {
  auto x = matrix("x"), y = matrix("y");  // float32, two dimensions of any size
  auto f = function({x, y}, {my_swish(1.5 * x + 0.5 * y) * x, x - y});

  std::vector<float> values(20, 0.25f);
  auto [z, d] = f.call<2>(Array::from(values, {4, 5}), Array::ones({4, 5}));
  std::cout << z << "\n" << d << "\n" << f.explain();  // one kernel, two outputs, and why

  bool right = f.graph().node_count() == 1;  // 0.25 * 0.875 / (1 + exp(-0.875)) and 0.25 - 1
  for (float value : z.to_vector<float>()) right &= value > 0.15438f && value < 0.1544f;
  for (float value : d.to_vector<float>()) right &= value == -0.75f;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
