// An op of two inputs: x * y of two matrices, element by element, on a grid of two dimensions.
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

class ProductOp final : public Op {
 public:
  std::string name() const override { return "product"; }

  Apply make_node(Inputs in) const override {
    in.require_count(2);
    for (const Variable& operand : in) {
      require_dtype(operand, float32);
      require_rank(operand, 2);
    }
    const Variable x = contiguous(in.at(0)), y = contiguous(in.at(1));
    return {*this, {x, y}, {{float32, {x.dims()[0], x.dims()[1]}}}};
  }

  // Unknown extents have values now: the last chance to compare them before the kernel reads.
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override {
    if (in[0] != in[1]) throw ShapeError("product: " + to_string(in[0]) + " against " + to_string(in[1]));
    return {{in[0]}};
  }

  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Kernel kernel = context.compile(R"(
      extern "C" __global__ void multiply(const float* x, const float* y, float* z, int rows, int columns) {
        int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
        if (row < rows && column < columns) z[row * columns + column] = x[row * columns + column] * y[row * columns + column];
      })",
                                    "multiply");
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.input(1)), &z = context.storage(node.output());
    return [=, &x, &y, &z] {
      const int rows = static_cast<int>(z.shape()[0]), columns = static_cast<int>(z.shape()[1]);
      if (rows == 0 || columns == 0) return;
      kernel.launch({.grid = {(columns + 31) / 32, (rows + 7) / 8}, .block = {32, 8}}, x, y, z, rows, columns);
    };
  }
};
inline const auto product = make_op<ProductOp>();

int main() {
  const Variable x = matrix("x"), y = matrix("y");
  const Function f = function({x, y}, {product(x, y)});
  std::vector<float> a(3 * 50), b(3 * 50);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), b[i] = 0.5f - static_cast<float>(i % 7);
  const Array z = f(Array::from(a, {3, 50}), Array::from(b, {3, 50}));
  std::cout << describe(z) << "\n";

  bool right = z.shape() == Shape{3, 50};
  for (std::size_t i = 0; i < a.size(); ++i) right &= z.to_vector<float>()[i] == a[i] * b[i];
  try {
    f(Array::ones({3, 4}), Array::ones({4, 3}));
    right = false;
  } catch (const ShapeError& error) {
    std::cout << error.what() << "\n";
  }
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
