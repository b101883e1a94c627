// A project that knows Damo only as an installed package: a row and a kernel of its own, fused and unfused.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

inline const Elementwise app_swish{{.name = "app_swish", .doc = "x * sigmoid(x)", .code = "x0 / (T(1) + exp(-x0))"}};
inline const RawKernel doubler{
    {.name = "doubler",
     .inputs = {"const float* i0"},
     .outputs = {"float* o0"},
     .scalars = {"int size"},
     .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) o0[i] = i0[i] * 2;"}};

int main() try {
  const Variable x = matrix("x"), y = matrix("y");
  const Variable z = doubler(app_swish(1.5 * x + 0.5 * y) * x);
  const Array a = Array::full({4, 5}, 0.25f), b = Array::ones({4, 5});
  const Function fused = function({x, y}, {z}), unfused = function({x, y}, {z}, {.fuse = false});
  const std::vector<float> one = fused(a, b)[0].to_vector<float>(), other = unfused(a, b)[0].to_vector<float>();
  const float expected = 2 * 0.25f * 0.875f / (1 + std::exp(-0.875f));
  bool right = fused.graph().node_count() < unfused.graph().node_count() && one.size() == 20 && other.size() == 20;
  for (std::size_t i = 0; right && i < 20; ++i)
    right = std::fabs(one[i] - expected) < 1e-6f && std::fabs(other[i] - expected) < 1e-6f;
  nn::Init init(1);  // a layer there and back, for which the libraries of formats are linked
  const nn::Linear layer(init, "layer", 3, 2);
  const std::vector<float> before = layer.weight.array().to_vector<float>();
  save("layer.safetensors", layer.parameters());
  layer.weight.set(Array::zeros({3, 2}));
  load("layer.safetensors", layer.parameters());
  idx::save("layer.idx", layer.weight.array());
  right = right && layer.weight.array().to_vector<float>() == before && idx::load("layer.idx").to_vector<float>() == before;
  std::cout << fused.explain() << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
} catch (const DeviceError& error) {  // a library built without back ends
  std::cout << error.what() << "\n";
  return devices().empty() ? 0 : 1;
}
