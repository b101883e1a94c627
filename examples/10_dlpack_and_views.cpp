// Arrays share their elements: slices, transposes and broadcasts are views, and DLPack hands the elements to another
// library of the same process and back. Nothing is copied on this page unless it says so.
#include <damo/damo.hpp>
#include <damo/dlpack.hpp>
#include <iostream>
using namespace damo;

int main() {
  const Array a = Array::from<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  const Array transposed = a.transpose(), column = a.slice({{}, {1, 2}}), reversed = a.slice({{}, {.step = -1}});
  const Array stretched = a.slice({{0, 1}}).broadcast_to({4, 3});
  bool right = true;
  for (const Array& view : {transposed, column, reversed, stretched}) {
    std::cout << describe(view) << "\n" << view << "\n";
    right &= view.shares_buffer_with(a);
  }
  right &= column.to_vector<float>() == std::vector<float>{1, 4};
  right &= reversed.to_vector<float>() == std::vector<float>{2, 1, 0, 5, 4, 3};

  // A Function reads views where they lie.
  const Variable x = matrix("x"), y = matrix("y");
  const Array sum = function({x, y}, {x + transpose(y)})(transposed, a);
  right &= sum.to_vector<float>() == std::vector<float>{0, 6, 2, 8, 4, 10};

  // Out and back in: whoever has the tensor keeps the elements alive and calls its deleter once.
  DLManagedTensor* tensor = transposed.to_dlpack();
  std::cout << "DLPack: " << tensor->dl_tensor.ndim << " axes, strides " << tensor->dl_tensor.strides[0] << " and "
            << tensor->dl_tensor.strides[1] << "\n";
  const Array back = Array::from_dlpack(tensor);  // from here on the tensor is back's
  right &= back.data() == transposed.data() && back.to_vector<float>() == transposed.to_vector<float>();

  // The caller's own memory as an Array: no copy where the device is the host's.
  for (const Device& device : devices()) {
    if (device.kind() != DeviceKind::kCpu) continue;
    std::vector<double> mine = {1, 2, 3};
    const Array borrowed = Array::borrow(mine.data(), float64, {3}, {1}, device);
    mine[0] = 10;
    right &= borrowed.data() == mine.data() && borrowed.to_vector<double>() == mine;
  }

  const Array copied = transposed.copy();  // this one is a copy: new elements, in C order
  right &= !copied.shares_buffer_with(a) && copied.is_contiguous();
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
