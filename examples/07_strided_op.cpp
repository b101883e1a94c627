// An op that reads its input where it lies: transposed, sliced, backwards, and no copy is made. make_node does not ask
// for contiguous(x); the thunk passes the strides on to the kernel.
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

class ScaleOp final : public Op {
 public:
  explicit ScaleOp(double factor) : factor_(factor) {}
  std::string name() const override { return "scale"; }
  Props props() const override { return {{"factor", factor_}}; }  // ops of equal props are equal, and may be merged

  Apply make_node(Inputs in) const override {
    in.require_count(1);
    require_dtype(in.at(0), float32);
    require_rank(in.at(0), 2);
    return {*this, {in.at(0)}, {in.at(0).type()}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }

  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Kernel kernel = context.compile(R"(
      extern "C" __global__ void scale(const float* x, float* y, float factor, int rows, int columns,
                                       long long row_stride, long long column_stride) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < rows * columns) y[i] = factor * x[i / columns * row_stride + i % columns * column_stride];
      })",
                                    "scale");
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.output());
    return [=, &x, &y, factor = static_cast<float>(factor_)] {
      const Shape& shape = x.shape();
      const Strides& strides = x.strides();  // in elements; negative for a slice that runs backwards
      // The address alone: a launch refuses a strided Array for a pointer, as a pointer knows no strides.
      kernel.launch_1d(x.size(), x.data<float>(), y, factor, static_cast<int>(shape[0]), static_cast<int>(shape[1]),
                       static_cast<long long>(strides[0]), static_cast<long long>(strides[1]));
    };
  }

 private:
  double factor_;
};

int main() {
  const auto scale = make_op<ScaleOp>(10.0);
  const Variable x = matrix("x");
  const Function f = function({x}, {scale(x)}), of_transposed = function({x}, {scale(transpose(x))});

  const Array a = Array::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
  const Array every_second_backwards = a.slice({{.start = 1}, {.step = -2}});  // rows 1 and 2, columns 3 and 1
  bool right = f(every_second_backwards)[0].to_vector<float>() == std::vector<float>{70, 50, 110, 90};
  const std::vector<float> transposed = {0, 40, 80, 10, 50, 90, 20, 60, 100, 30, 70, 110};
  right &= f(a.transpose())[0].to_vector<float>() == transposed;  // the array is a view
  right &= of_transposed(a)[0].to_vector<float>() == transposed;  // the graph makes the view
  std::cout << debugprint(of_transposed.graph()) << f(every_second_backwards)[0] << "\n";
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
