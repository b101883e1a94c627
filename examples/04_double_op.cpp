// Way 3 of a custom op: a class, with everything in your hands. make_node says what the op takes and gives; make_thunk
// compiles its kernel and returns the work of one call.
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

class DoubleOp final : public Op {
 public:
  std::string name() const override { return "double"; }

  // Called when a graph is built: the place to check dtypes and ranks, and the only one where types are inferred.
  Apply make_node(Inputs in) const override {
    in.require_count(1);
    require_dtype(in.at(0), float32);
    const Variable x = contiguous(in.at(0));  // the kernel counts elements; no copy if x is contiguous already
    return {*this, {x}, {x.type()}};
  }
  // Called when shapes change. No data, no device.
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }

  // Called once a Function: the kernels of all ops are compiled together. What it returns runs at each call.
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Kernel kernel = context.compile(R"(
      extern "C" __global__ void my_fct(const float* i0, float* o0, int size) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < size) o0[i] = i0[i] * 2;
      })",
                                    "my_fct");
    Cell& in = context.storage(node.input(0));
    Cell& out = context.storage(node.output(0));  // of the right shape whenever the thunk runs
    return [=, &in, &out] {
      const int n = static_cast<int>(in.size());
      if (n == 0) return;
      kernel.launch({.grid = {(n + 511) / 512}, .block = {512}}, in, out, n);  // launch_1d is a short form of this
    };
  }
};
inline const auto double_op = make_op<DoubleOp>();

bool are_all(const Array& array, const Shape& shape, float wanted) {
  bool right = array.shape() == shape;
  for (float value : array.to_vector<float>()) right &= value == wanted;
  return right;
}

int main() {
  const Variable x = matrix("x");
  const Function f = function({x}, {double_op(x)});

  const Array first = f(Array::ones({4, 5}));
  std::cout << first << "\n";
  bool right = are_all(first, {4, 5}, 2);
  right &= are_all(f(Array::full({700, 3}, 1.5f)), {700, 3}, 3);    // another shape, five blocks
  right &= are_all(f(Array::ones({4, 5}).transpose()), {5, 4}, 2);  // not in C order: contiguous() copies
  right &= are_all(first, {4, 5}, 2);                               // a result that is held is never overwritten

  try {
    double_op(matrix("wrong", float64));
    right = false;
  } catch (const TypeError& error) {
    std::cout << "a float64 matrix is refused:\n" << error.what() << "\n";
  }
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
