// An op of two outputs: x + y and x - y from one launch, which reads x and y once.
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

class SumAndDifference final : public Op {
 public:
  std::string name() const override { return "sum_and_difference"; }

  Apply make_node(Inputs in) const override {
    in.require_count(2);
    for (const Variable& operand : in) require_dtype(operand, float32);
    const Variable x = contiguous(in.at(0)), y = contiguous(in.at(1));
    return {*this, {x, y}, {x.type(), x.type()}};  // one type for each output
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override {
    if (in[0] != in[1]) throw ShapeError(name() + ": " + to_string(in[0]) + " against " + to_string(in[1]));
    return {{in[0], in[0]}};
  }

  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Kernel kernel = context.compile(R"(
      extern "C" __global__ void both(const float* x, const float* y, float* sum, float* difference, int size) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= size) return;
        float a = x[i], b = y[i];
        sum[i] = a + b;
        difference[i] = a - b;
      })",
                                    "both");
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.input(1));
    Cell &sum = context.storage(node.output(0)), &difference = context.storage(node.output(1));
    return [=, &x, &y, &sum, &difference] {
      kernel.launch_1d(x.size(), x, y, sum, difference, static_cast<int>(x.size()));
    };
  }
};
inline const auto sum_and_difference = make_op<SumAndDifference>();

int main() {
  const Variable x = matrix("x"), y = matrix("y");
  const std::vector<Variable> both = sum_and_difference.outputs({x, y});
  const Function f = function({x, y}, {both[0], both[1], both[0] * both[1]});  // the product is a kernel of Damo's

  const auto [sum, difference, product] = f.call<3>(Array::full({2, 3}, 5.0f), Array::full({2, 3}, 3.0f));
  std::cout << debugprint(f.graph()) << sum << "\n" << difference << "\n" << product << "\n";

  const std::vector<float> eights(6, 8), twos(6, 2), sixteens(6, 16);
  const bool right = sum.to_vector<float>() == eights && difference.to_vector<float>() == twos &&
                     product.to_vector<float>() == sixteens;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
