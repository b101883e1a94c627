#include "workload.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "formulas.hpp"

namespace damo::bench {
namespace {

using Variables = std::span<const Variable>;
using Graph = std::function<std::vector<Variable>(Variables)>;

struct Sizes {
  std::int64_t elements, rows, columns, chain, half_matrix, matrix;
};

std::vector<Variable> chain20(Variables v) {
  Variable z = v[0];
  const Variable& y = v[1];
  for (int i = 0; i < 20; ++i) z = i % 2 == 1 ? exp(-z * z) + tanh(y * (0.1 * i)) : z * y + 0.01 * i;
  return {z};
}

std::vector<Variable> bias_gelu_residual(Variables v) {
  const Variable u = v[0] + v[1];
  return {0.5 * u * (1.0 + tanh(0.7978845608028654 * (u + 0.044715 * u * u * u))) + v[2]};
}

std::vector<Variable> adam(Variables v) {
  const Variable m = 0.9 * v[1] + 0.1 * v[3], second = 0.999 * v[2] + 0.001 * v[3] * v[3];
  return {v[0] - 1e-3 * m / (sqrt(second) + 1e-8), m, second};
}

Variable layer_norm_of(Variables v) { return layer_norm(v[0], v[1], v[2]); }
Variable rms_norm_of(Variables v) { return rms_norm(v[0], v[1]); }

/// Of the norm's inputs, the last of which is the gradient by its result: the gradients by the others.
template <Variable (*norm)(Variables)>
std::vector<Variable> gradients_of(Variables v) {
  const Variable y = norm(v.first(v.size() - 1));
  return lop(std::span(&y, 1), std::span(&v.back(), 1), v.first(v.size() - 1));
}

Variable gelu_by_tanh(const Variable& x) { return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

Graph long_chain(int length) {
  return [length](Variables v) -> std::vector<Variable> {
    Variable z = v[0];
    for (int i = 0; i < length; ++i) z = tanh(z * 1.0001 + 0.001 * (i % 7));
    return {z};
  };
}

Graph long_chain_of_unlike_numbers(int length) {
  return [length](Variables v) -> std::vector<Variable> {
    Variable z = v[0];
    for (int i = 0; i < length; ++i) z = tanh(z * (1.0001 + 1e-5 * i) + 0.001 * i);
    return {z};
  };
}

/// x / 2 + x / 2 + x / 3 + ... by products.
Graph sum_of_products(int terms) {
  return [terms](Variables v) -> std::vector<Variable> {
    Variable y = v[0] * 0.5;
    for (int i = 2; i <= terms; ++i) y = y + v[0] * (1.0 / i);
    return {y};
  };
}

Graph repeated(int times, Variable (*step)(const Variable&)) {
  return [times, step](Variables v) -> std::vector<Variable> {
    Variable z = v[0];
    for (int i = 0; i < times; ++i) z = step(z);
    return {z};
  };
}

/// A dense layer of n x n matrices: activation(x w + b).
Workload gemm(const char* name, std::int64_t n, DType dtype, bool tf32, Variable (*activation)(const Variable&)) {
  const auto extent = static_cast<double>(n);
  return {.name = name,
          .shapes = {{n, n}, {n, n}, {n}},
          .graph = [activation](Variables v) -> std::vector<Variable> { return {activation(dot(v[0], v[1]) + v[2])}; },
          .bytes = 3.0 * extent * extent * static_cast<double>(itemsize(dtype)),
          .dtype = dtype,
          .operations = 2.0 * extent * extent * extent,
          .tf32 = tf32};
}

Workload in_bfloat16(Workload work) {
  work.name += "_bf16";
  work.dtype = bfloat16;
  work.bytes /= 2;
  return work;
}

std::vector<Variable> gradient_of_100_tanh(Variables v) {
  Variable y = v[0];
  for (int i = 0; i < 100; ++i) y = tanh(1.5 * y + 0.1);
  return {lop(y, v[1], v[0])};
}

std::vector<Variable> cross_entropy_and_gradient(Variables v) {
  const Variable loss = mean(cross_entropy(v[0], v[1]));
  return {loss, grad(loss, v[0])};
}

/// The last of 1,000 states, in a loop of the graph's.
Variable scanned_tanh(const Variable& start) {
  const ScanOutputs states = scan({.initial = {start}, .steps = 1000}, [](const Variable& h) { return tanh(1.01 * h + 0.1); });
  return subtensor(states[0], {-1});
}

/// The bytes of so many arrays of float32.
double times(int arrays, std::int64_t elements) { return 4.0 * arrays * static_cast<double>(elements); }

Workload softmax_of_rows(const char* name, std::int64_t elements, std::int64_t columns) {
  return {name, {{elements / columns, columns}}, [](Variables v) -> std::vector<Variable> { return {softmax(v[0], 1)}; }, times(2, elements)};
}

/// An element for an element, with operands that stretch or lie across the others.
std::vector<Workload> elementwise_workloads(const Sizes& sizes) {
  const std::int64_t n = sizes.elements, r = sizes.rows, c = sizes.columns;
  return {
      {"double", {{n}}, [](Variables v) -> std::vector<Variable> { return {v[0] * 2.0}; }, times(2, n)},
      {"axpby_tanh",
       {{n}, {n}},
       [](Variables v) -> std::vector<Variable> { return {tanh(1.5 * v[0] + 0.5 * v[1]) * v[0]}; },
       times(3, n)},
      {"chain20", {{n}, {n}}, chain20, times(3, n)},
      {"bias_gelu_residual", {{r, c}, {c}, {r, c}}, bias_gelu_residual, times(3, r * c)},
      {"multi_output",
       {{n}, {n}},
       [](Variables v) -> std::vector<Variable> {
         return {v[0] + v[1], v[0] - v[1], v[0] * v[1]};
       },
       times(5, n)},
      {"transpose_tanh",
       {{r, c}, {c, r}},
       [](Variables v) -> std::vector<Variable> { return {tanh(transpose(v[0])) + v[1]}; },
       times(3, r * c)},
      {"outer",
       {{r, 1}, {1, c}, {r, c}},
       [](Variables v) -> std::vector<Variable> { return {v[0] * v[1] + v[2]}; },
       times(2, r * c)},
      {"adam", {{n / 2}, {n / 2}, {n / 2}, {n / 2}}, adam, times(7, n / 2)},
  };
}

/// Of rows, of columns and of all elements: softmax, norms and losses with their gradients.
std::vector<Workload> reducing_workloads(const Sizes& sizes) {
  const std::int64_t n = sizes.elements, r = sizes.rows, c = sizes.columns;
  return {
      {"sum_xy", {{n}, {n}}, [](Variables v) -> std::vector<Variable> { return {sum(v[0] * v[1])}; }, times(2, n)},
      softmax_of_rows("softmax_4k", n, 4096),
      softmax_of_rows("softmax_64k", n, 65536),
      softmax_of_rows("softmax_1k", n, 1000),
      softmax_of_rows("softmax_50257", n, 50257),
      softmax_of_rows("softmax_8191", n, 8191),
      softmax_of_rows("softmax_300", n, 300),
      softmax_of_rows("softmax_262144", n, 262144),
      {"layernorm_8k", {{r, c}, {c}, {c}}, [](Variables v) -> std::vector<Variable> { return {layer_norm_of(v)}; }, times(2, r * c)},
      {"rmsnorm_1k",
       {{n / 1024, 1024}, {1024}},
       [](Variables v) -> std::vector<Variable> { return {rms_norm_of(v)}; },
       times(2, n)},
      {"layernorm_gradient", {{r, c}, {c}, {c}, {r, c}}, gradients_of<layer_norm_of>, times(3, r * c)},
      {"rmsnorm_gradient", {{n / 1024, 1024}, {1024}, {n / 1024, 1024}}, gradients_of<rms_norm_of>, times(3, n)},
      {.name = "cross_entropy",
       .shapes = {{r, c}, {r}},
       .graph = [](Variables v) -> std::vector<Variable> { return {mean(cross_entropy(v[0], v[1]))}; },
       .bytes = times(1, r * c),
       .classes = c},
      {.name = "cross_entropy_gradient", .shapes = {{r, c}, {r}}, .graph = cross_entropy_and_gradient, .bytes = times(2, r * c), .classes = c},
      {.name = "cross_entropy_gradient_50257",  // GPT-2's words
       .shapes = {{n / 50257, 50257}, {n / 50257}},
       .graph = cross_entropy_and_gradient,
       .bytes = times(2, n),
       .classes = 50257},
      {"colsum_gelu", {{r, c}}, [](Variables v) -> std::vector<Variable> { return {sum(gelu_by_tanh(v[0]), 0)}; }, times(1, r * c)},
      {"argmax_rows", {{r, c}}, [](Variables v) -> std::vector<Variable> { return {argmax(v[0], 1)}; }, times(1, r * c)},
  };
}

/// What looks along an axis element by element: prefix sums, order, positions that are data.
std::vector<Workload> scanning_and_ordering_workloads(const Sizes& sizes) {
  const std::int64_t n = sizes.elements, r = sizes.rows, c = sizes.columns;
  return {
      {"cumsum", {{n}}, [](Variables v) -> std::vector<Variable> { return {cumsum(v[0], 0)}; }, times(2, n)},
      {"cumsum_rows", {{r, c}}, [](Variables v) -> std::vector<Variable> { return {cumsum(v[0], 1)}; }, times(2, r * c)},
      {"cumsum_rows_8191", {{n / 8191, 8191}}, [](Variables v) -> std::vector<Variable> { return {cumsum(v[0], 1)}; }, times(2, n)},
      {"cumsum_columns", {{r, c}}, [](Variables v) -> std::vector<Variable> { return {cumsum(v[0], 0)}; }, times(2, r * c)},
      {"cumsum_weighted", {{r, c}, {r, c}}, [](Variables v) -> std::vector<Variable> { return {cumsum(v[0] * v[1], 1) * v[1]}; }, times(3, r * c)},
      {"sort", {{n / 8}}, [](Variables v) -> std::vector<Variable> { return {sort(v[0])}; }, times(2, n / 8)},
      {"argsort_rows", {{n / 8 / c, c}}, [](Variables v) -> std::vector<Variable> { return {argsort(v[0])}; }, times(3, n / 8)},
      {.name = "embedding_gradient",  // of 50,304 words, of which 16,384 were read
       .shapes = {{50304, 768}, {16384, 768}, {16384}},
       .graph = [](Variables v) -> std::vector<Variable> { return {grad(sum(take(v[0], v[2], 0) * v[1]), v[0])}; },
       .bytes = times(1, (50304 + 16384) * 768),
       .classes = 50304},
  };
}

/// Of matrices, with what their library or a kernel behind them adds.
std::vector<Workload> product_workloads(const Sizes& sizes) {
  return {
      gemm("gemm_bias_relu", sizes.half_matrix, bfloat16, false, [](const Variable& z) { return relu(z); }),
      gemm("gemm_bias_gelu", sizes.matrix, float32, false, [](const Variable& z) { return gelu_tanh(z); }),
      gemm("gemm_bias_gelu_tf32", sizes.matrix, float32, true, [](const Variable& z) { return gelu_tanh(z); }),
      {.name = "gemm_fp8",  // float8_e4m3, both along the summed axis; the result in bfloat16
       .shapes = {{sizes.half_matrix, sizes.half_matrix}, {sizes.half_matrix, sizes.half_matrix}},
       .graph = [](Variables v) -> std::vector<Variable> { return {dot(v[0], transpose(v[1]), bfloat16)}; },
       .bytes = times(1, sizes.half_matrix * sizes.half_matrix),
       .dtype = float8_e4m3,
       .operations = 2.0 * std::pow(static_cast<double>(sizes.half_matrix), 3)},
      {.name = "mlp_infer_b1",
       .shapes = {{1, 784}, {784, 512}, {512, 512}, {512, 10}},
       .graph = [](Variables v) -> std::vector<Variable> { return {dot(relu(dot(relu(dot(v[0], v[1])), v[2])), v[3])}; },
       .bytes = times(1, 784 * 512 + 512 * 512 + 512 * 10),
       .operations = 2.0 * (784 * 512 + 512 * 512 + 512 * 10)},
  };
}

/// Small calls, and many ops on few elements or on one array: where the host, the compiler or arithmetic takes the time.
std::vector<Workload> workloads_of_many_ops(const Sizes& sizes) {
  const std::int64_t n = sizes.elements;
  return {
      {"tiny_double", {{256}}, [](Variables v) -> std::vector<Variable> { return {v[0] * 2.0}; }, times(2, 256)},
      {"compile_chain100", {{sizes.chain}}, long_chain(100), times(2, sizes.chain), true},
      {"compile_chain1000", {{sizes.chain}}, long_chain(1000), times(2, sizes.chain), true},
      {"compile_chain1000_unlike", {{sizes.chain}}, long_chain_of_unlike_numbers(1000), times(2, sizes.chain), true},
      {"sum_of_products60", {{n / 8}}, sum_of_products(60), times(2, n / 8)},
      {"sum_of_products66", {{n / 8}}, sum_of_products(66), times(2, n / 8)},
      {"sum_of_products100", {{n / 8}}, sum_of_products(100), times(2, n / 8)},
      {"sum_of_products1000", {{n / 8}}, sum_of_products(1000), times(2, n / 8)},
      {"gradient_of_100_tanh", {{n / 8}, {n / 8}}, gradient_of_100_tanh, times(3, n / 8)},
      {"scan_tanh1000", {{65536}}, [](Variables v) -> std::vector<Variable> { return {scanned_tanh(v[0])}; }, times(2, 65536)},
      {"scan_tanh1000_gradient", {{65536}}, [](Variables v) -> std::vector<Variable> { return {grad(sum(scanned_tanh(v[0])), v[0])}; }, times(2, 65536)},
      {"tan8", {{n / 8}}, repeated(8, [](const Variable& z) { return tan(z) * 0.5; }), times(2, n / 8)},
      {"small_sin50", {{2000}}, repeated(50, [](const Variable& z) { return sin(z); }), times(2, 2000)},
      {"small_tanh50", {{2000}}, repeated(50, [](const Variable& z) { return tanh(z); }), times(2, 2000)},
      {"small_exp50", {{2000}}, repeated(50, [](const Variable& z) { return exp(-z); }), times(2, 2000)},
      {"small_tanh100", {{2000}}, repeated(100, [](const Variable& z) { return tanh(z); }), times(2, 2000)},  // unfused: 100 small kernels
  };
}

/// Those of them that are timed in bfloat16 too.
std::vector<Workload> of_bfloat16(std::span<const Workload> all) {
  std::vector<Workload> halves;
  for (const char* name : {"double", "softmax_4k", "softmax_64k", "softmax_1k", "softmax_50257", "softmax_8191", "softmax_262144", "layernorm_8k", "rmsnorm_1k",
                           "layernorm_gradient", "rmsnorm_gradient", "cross_entropy_gradient", "cross_entropy_gradient_50257", "colsum_gelu", "argmax_rows"})
    halves.push_back(in_bfloat16(*std::find_if(all.begin(), all.end(), [&](const Workload& work) { return work.name == name; })));
  return halves;
}

}  // namespace

std::vector<Array> Workload::inputs(Device device) const {
  std::vector<Array> arrays;
  for (const Shape& shape : shapes) {
    const std::size_t i = arrays.size();
    const Array random = random_array(shape, device, static_cast<unsigned>(i));
    arrays.push_back(holds_classes(i) ? astype(astype(random * static_cast<double>(classes), int32), labels) : astype(random, dtype));
  }
  return arrays;
}

std::vector<Variable> Workload::variables() const {
  std::vector<Variable> inputs;
  for (const Shape& shape : shapes) {
    // An extent of 1 broadcasts, which the graph must know; the others it need not.
    Shape dims = shape;
    if (!knows_extents)
      for (std::int64_t& extent : dims) extent = extent == 1 ? 1 : kUnknown;
    inputs.push_back(input({dtype_of(inputs.size()), dims}));
  }
  return inputs;
}

Function Workload::build(Device device, bool fuse) const {
  Options options;
  options.fuse = fuse;
  options.device = device;
  options.name = name;
  options.tf32 = tf32;
  options.allow_unused_inputs = true;  // a gradient does not read the bias
  const std::vector<Variable> inputs = variables();
  return function(inputs, graph(inputs), options);
}

std::vector<Workload> workloads(DeviceKind kind, bool compositions_only) {
  const Sizes sizes =
      kind == DeviceKind::kCuda ? Sizes{1 << 27, 16384, 8192, 1 << 20, 8192, 4096} : Sizes{1 << 24, 4096, 4096, 1 << 16, 1024, 1024};
  std::vector<Workload> all{{"copy", {{sizes.elements}}, {}, times(2, sizes.elements)}};
  const auto append = [&](std::vector<Workload> more) { all.insert(all.end(), std::move_iterator(more.begin()), std::move_iterator(more.end())); };
  if (compositions_only) {
    append(compositions(sizes.elements));
    return all;
  }
  for (const auto of_kind : {elementwise_workloads, reducing_workloads, scanning_and_ordering_workloads, product_workloads, workloads_of_many_ops}) append(of_kind(sizes));
  append(of_bfloat16(all));
  return all;
}

Array random_array(const Shape& shape, Device device, unsigned seed) { return RandomGenerator(seed, device).uniform(shape); }

Variable twenty_ops(Variable z, const Variable& y) {
  for (int i = 0; i < 5; ++i) z = exp(-z * z) + y;
  return z;
}

}  // namespace damo::bench
