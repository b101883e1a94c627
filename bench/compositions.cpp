// What users write in plain ops and no other workload has: rotary embeddings, group norms, softmax over other axes and of odd lengths, losses with their gradients,
// prefix sums, transpositions beside other work. Each stands in float32 and in bfloat16; a graph knows all its extents.
#include <cmath>

#include "composition_list.hpp"
#include "formulas.hpp"

namespace damo::bench {
namespace {

using Inputs = CompositionList::Inputs;
using Outputs = CompositionList::Outputs;

/// Of images (n, channels, height, width): over groups of eight channels.
Variable group_norm(const Variable& x, const Variable& weight, const Variable& bias) {
  const std::int64_t n = x.dims()[0], channels = x.dims()[1], height = x.dims()[2], width = x.dims()[3];
  const Variable groups = standardized(reshape(x, {n, channels / 8, 8 * height * width}), 2);
  return reshape(groups, x.dims()) * reshape(weight, {channels, 1, 1}) + reshape(bias, {channels, 1, 1});
}

void add_norms(CompositionList& list) {
  const auto images = [](Inputs v) -> Outputs { return {group_norm(v[0], v[1], v[2])}; };
  list.add("group_norm", {{list.scaled(32), 256, 128, 128}, {256}, {256}}, images);
  list.add("group_norm_small", {{list.scaled(4096), 256, 16, 8}, {256}, {256}}, images);
  list.add("group_norm_grad", {{list.scaled(1024), 256, 16, 16}, {256}, {256}, {list.scaled(1024), 256, 16, 16}}, [](Inputs v) -> Outputs { return gradients(group_norm(v[0], v[1], v[2]), v[3], {v[0], v[1], v[2]}); });
  const auto groups = [](Inputs v) -> Outputs { return {standardized(v[0], {2, 3}) * v[1] + v[2]}; };
  list.add("group_norm_4d", {{list.scaled(4096), 32, 8, 128}, {32, 8, 1}, {32, 8, 1}}, groups);
  list.add("group_norm_4d_big", {{list.scaled(32), 32, 8, 16384}, {32, 8, 1}, {32, 8, 1}}, groups);
  list.add("group_norm_nhwc", {{list.scaled(256), 64 * 64, 128}, {128}, {128}}, [](Inputs v) -> Outputs {
    const Shape& dims = v[0].dims();
    return {reshape(standardized(reshape(v[0], {dims[0], dims[1], 32, 4}), {1, 3}), dims) * v[1] + v[2]};
  });
  list.add("instance_norm", {{list.scaled(128), 256, 64 * 64}}, [](Inputs v) -> Outputs { return {standardized(v[0], 2)}; });

  const std::int64_t n = list.scaled(256), positions = list.scaled(1 << 20);
  const auto batch_norm = [](Inputs v) { return standardized(v[0], {0, 2}) * v[1] + v[2]; };
  list.add(
      "batch_norm", {{n, 128, 4096}, {128, 1}, {128, 1}}, [=](Inputs v) -> Outputs { return {batch_norm(v)}; }, n * 128 * 4096);
  list.add(
      "batch_norm_nhwc", {{positions, 128}, {128}, {128}}, [](Inputs v) -> Outputs { return {standardized(v[0], 0) * v[1] + v[2]}; }, positions * 128);
  const std::int64_t half = list.scaled(128);  // x is read for its statistics, with y's gradient for sums of both, and once more with it
  list.add(
      "batch_norm_grad", {{half, 128, 4096}, {128, 1}, {128, 1}, {half, 128, 4096}}, [=](Inputs v) -> Outputs { return gradients(batch_norm(v), v[3], {v[0], v[1], v[2]}); }, 3 * half * 128 * 4096);

  const auto layer = [](Inputs v) -> Outputs { return {layer_norm(v[0], v[1], v[2])}; };
  for (std::int64_t length : {64, 256, 768, 1600, 4096, 12288, 20480, 32768, 98304}) list.add("layernorm_" + std::to_string(length), {{list.scaled(kFullElements / length), length}, {length}, {length}}, layer);
  const std::int64_t rows = list.scaled(16384);
  list.add("residual_layernorm", {{rows, 4096}, {rows, 4096}, {4096}, {4096}}, [](Inputs v) -> Outputs {
    const Variable h = v[0] + v[1];
    return {h, layer_norm(h, v[2], v[3])};
  });
  list.add("layernorm_transposed_out", {{rows, 8192}, {8192}, {8192}}, [](Inputs v) -> Outputs { return {contiguous(transpose(layer_norm(v[0], v[1], v[2])))}; });
  list.add({.name = "take_layernorm",  // of GPT-2's words
            .shapes = {{list.scaled(50304), 768}, {768}, {768}, {list.scaled(174762)}},
            .graph = [](Inputs v) -> Outputs { return {layer_norm(take(v[0], v[3], 0), v[1], v[2])}; },
            .classes = list.scaled(50304)});
  list.add({.name = "take_mul",
            .shapes = {{list.scaled(50304), 768}, {768}, {list.scaled(174762)}},
            .graph = [](Inputs v) -> Outputs { return {take(v[0], v[2], 0) * v[1]}; },
            .classes = list.scaled(50304)});
  list.add("ln_gelu_grad", {{rows, 4096}, {4096}, {4096}, {rows, 4096}}, [](Inputs v) -> Outputs { return gradients(gelu_tanh(layer_norm(v[0], v[1], v[2])), v[3], {v[0], v[1], v[2]}); });
  list.add("residual_rmsnorm_grad", {{rows, 4096}, {4096}, {rows, 4096}, {rows, 4096}}, [](Inputs v) -> Outputs {
    const Outputs by = gradients(rms_norm(v[0], v[1]), v[2], {v[0], v[1]});
    return {by[0] + v[3], by[1]};
  });
  for (std::int64_t length : {8192, 10240, 12288, 16384, 24576, 32768, 65536}) {
    list.add("layernorm_grad_" + std::to_string(length), {{list.scaled(kFullElements / length), length}, {length}, {length}, {list.scaled(kFullElements / length), length}}, [](Inputs v) -> Outputs { return gradients(layer_norm(v[0], v[1], v[2]), v[3], {v[0], v[1], v[2]}); });
  }
  list.add("heads_rmsnorm_grad", {{list.scaled(32768), 32, 128}, {32, 128}, {list.scaled(32768), 32, 128}}, [](Inputs v) -> Outputs { return gradients(rms_norm(v[0], v[1]), v[2], {v[0], v[1]}); });
  list.add("instance_norm_grad", {{list.scaled(256), 128, 4096}, {128, 1}, {list.scaled(256), 128, 4096}}, [](Inputs v) -> Outputs { return gradients(standardized(v[0], 2) * v[1], v[2], {v[0], v[1]}); });
  list.add("normalize_l2", {{list.scaled(131072), 1024}}, [](Inputs v) -> Outputs { return {v[0] / norm(v[0], 1, keepdims)}; });
  list.add("minmax", {{list.scaled(131072), 1024}}, [](Inputs v) -> Outputs {
    const Variable least = min(v[0], 1, keepdims);
    return {(v[0] - least) / (max(v[0], 1, keepdims) - least)};
  });
  list.add(
      "std_all", {{rows, 8192}}, [](Inputs v) -> Outputs { return {(v[0] - mean(v[0])) / (stddev(v[0]) + 1e-6)}; }, rows * 8192);
}

void add_rotations_and_gates(CompositionList& list) {
  const std::int64_t n = list.scaled(32), rows = list.scaled(16384);
  const auto halves = [](const Variable& x) { return split(x, {64, 64}, 3); };
  list.add("rope_halves", {{n, 1024, 32, 128}, {1024, 1, 64}, {1024, 1, 64}}, [=](Inputs v) -> Outputs {
    const auto x = halves(v[0]);
    return {concatenate({x[0] * v[1] - x[1] * v[2], x[1] * v[1] + x[0] * v[2]}, 3)};
  });
  list.add("rope_pairs", {{n, 1024, 32, 128}, {1024, 1, 64}, {1024, 1, 64}}, [=](Inputs v) -> Outputs {
    const Variable pairs = reshape(v[0], {n, 1024, 32, 64, 2}), a = subtensor(pairs, {ellipsis, 0}), b = subtensor(pairs, {ellipsis, 1});
    return {reshape(stack({a * v[1] - b * v[2], b * v[1] + a * v[2]}, 4), {n, 1024, 32, 128})};
  });
  list.add("rotate_half", {{n, 1024, 32, 128}, {1024, 1, 128}, {1024, 1, 128}}, [=](Inputs v) -> Outputs {
    const auto x = halves(v[0]);
    return {v[0] * v[1] + concatenate({-x[1], x[0]}, 3) * v[2]};
  });
  list.add("concat_gelu", {{rows, 4096}, {rows, 4096}}, [](Inputs v) -> Outputs { return {gelu_tanh(concatenate({v[0], v[1]}, 1))}; });
  const auto swiglu = [](const Variable& gate, const Variable& x) { return gate * sigmoid(gate) * x; };
  list.add("swiglu_parts", {{list.scaled(8192), 16384}}, [=](Inputs v) -> Outputs {
    const auto parts = split(v[0], {8192, 8192}, 1);
    return {swiglu(parts[0], parts[1])};
  });
  list.add("swiglu_grad", {{rows, 4096}, {rows, 4096}, {rows, 4096}}, [=](Inputs v) -> Outputs { return gradients(swiglu(v[0], v[1]), v[2], {v[0], v[1]}); });
  list.add("gelu_grad", {{rows, 8192}, {rows, 8192}}, [](Inputs v) -> Outputs { return gradients(gelu(v[0]), v[1], {v[0]}); });
  list.add("dropout_residual", {{rows, 8192}, {rows, 8192}}, [](Inputs v) -> Outputs {
    RandomStream random(3);
    return {random.dropout(v[0], 0.1) + v[1]};
  });
  list.add("bias_grad_relu", {{rows, 8192}, {rows, 8192}}, [](Inputs v) -> Outputs {
    const Variable by_x = where(v[0] > 0, v[1], 0);
    return {by_x, sum(by_x, 0)};
  });
  list.add("adagrad", {{rows, 4096}, {rows, 4096}, {rows, 4096}}, [](Inputs v) -> Outputs {
    const Variable squares = v[1] + sqr(v[2]);
    return {v[0] - 0.01 * v[2] / (sqrt(squares) + 1e-8), squares};
  });
}

void add_softmaxes(CompositionList& list) {
  const auto along = [](int axis) { return [axis](Inputs v) -> Outputs { return {softmax(v[0], axis)}; }; };
  for (std::int64_t length : {3, 10, 16, 64, 100, 128, 256, 512, 768, 2000, 5000, 12000, 16384, 20000, 32768, 100000, 131072, 1000000}) list.add("softmax_" + std::to_string(length), {{list.scaled(kFullElements / length), length}}, along(1));
  list.add("softmax_axis0", {{4096, list.scaled(32768)}}, along(0));
  list.add("softmax_axis0_64", {{64, list.scaled(1 << 21)}}, along(0));
  list.add("softmax_axis1_of3", {{list.scaled(128), 256, 4096}}, along(1));
  const std::int64_t rows = list.scaled(32768);
  list.add({.name = "masked_softmax",
            .shapes = {{rows, 4096}, {rows, 4096}},
            .graph = [](Inputs v) -> Outputs { return {softmax(where(v[1], v[0], -INFINITY), 1)}; },
            .classes = 2,
            .labels = bool_});
  list.add("causal_softmax", {{list.scaled(32), 1024, 4096}}, [](Inputs v) -> Outputs { return {softmax(where(index_along(v[0], 2) <= index_along(v[0], 1) * 4, v[0] * 0.125, -INFINITY), 2)}; });
  list.add("alibi_softmax", {{list.scaled(16), 8, 1024, 1024}, {8, 1, 1}}, [](Inputs v) -> Outputs {
    const Variable key = symbolic::arange(1024), query = expand_dims(key, 1), distance = astype(key - query, float32);
    return {softmax(where(key <= query, v[0] * 0.125 + astype(v[1] * distance, v[0].dtype()), -INFINITY), 3)};
  });
  list.add("transpose_softmax", {{8192, list.scaled(16384)}}, [](Inputs v) -> Outputs { return {softmax(transpose(v[0]), 1)}; });
  list.add("softmax_cumsum", {{list.scaled(16384), 8192}}, [](Inputs v) -> Outputs { return {cumsum(softmax(v[0], 1), 1)}; });
  list.add("top_p", {{list.scaled(16384), 8192}}, [](Inputs v) -> Outputs {
    const Variable p = softmax(v[0], 1);
    return {where(cumsum(p, 1) - p < 0.9, p, 0.0)};
  });
  list.add("softmax_grad", {{rows, 4096}, {rows, 4096}}, [](Inputs v) -> Outputs { return gradients(softmax(v[0], 1), v[1], {v[0]}); });
  for (std::int64_t length : {8192, 10240, 12288, 16384, 24576, 32768}) {
    list.add("softmax_grad_" + std::to_string(length), {{list.scaled(kFullElements / length), length}, {list.scaled(kFullElements / length), length}}, [](Inputs v) -> Outputs { return gradients(softmax(v[0], 1), v[1], {v[0]}); });
  }
  list.add("log_softmax", {{rows, 4096}}, [](Inputs v) -> Outputs { return {log_softmax(v[0])}; });
  list.add("logsumexp", {{rows, 4096}}, [](Inputs v) -> Outputs { return {logsumexp(v[0], 1)}; });
  list.add("logsumexp_axis0", {{rows, 4096}}, [](Inputs v) -> Outputs { return {logsumexp(v[0], 0)}; });
  list.add("moe_gate", {{list.scaled(1 << 21), 64}}, [](Inputs v) -> Outputs {
    const Variable p = softmax(v[0], 1);
    const auto greatest = max_and_argmax(p, 1);
    return {greatest.values, greatest.positions, mean(p, 0)};
  });
}

void add_losses(CompositionList& list) {
  const std::int64_t rows = list.scaled(16384);
  const auto with_gradient = [](const Variable& loss, const Variable& by) -> Outputs { return {loss, grad(loss, by)}; };
  list.add("kl", {{list.scaled(32768), 4096}, {list.scaled(32768), 4096}}, [](Inputs v) -> Outputs { return {mean(sum(exp(v[0]) * (v[0] - v[1]), 1))}; });
  list.add("bce_mean", {{rows, 8192}, {rows, 8192}}, [](Inputs v) -> Outputs { return {mean(sigmoid_cross_entropy(v[0], v[1]))}; });
  list.add("mse_and_grad", {{rows, 8192}, {rows, 8192}}, [=](Inputs v) -> Outputs { return with_gradient(mean(sqr(v[0] - v[1])), v[0]); });
  list.add("huber_grad", {{rows, 8192}, {rows, 8192}}, [=](Inputs v) -> Outputs {
    const Variable difference = v[0] - v[1], distance = abs(difference);
    return with_gradient(mean(where(distance <= 1, 0.5 * difference * difference, distance - 0.5)), v[0]);
  });
  list.add({.name = "smooth_ce_grad",
            .shapes = {{rows, 8192}, {rows}},
            .graph = [=](Inputs v) -> Outputs { return with_gradient(mean(0.9 * cross_entropy(v[0], v[1]) - 0.1 * mean(log_softmax(v[0]), 1)), v[0]); },
            .classes = 8192});
  list.add("cosine", {{list.scaled(131072), 1024}, {list.scaled(131072), 1024}}, [](Inputs v) -> Outputs { return {sum(v[0] * v[1], 1) / (norm(v[0], 1) * norm(v[1], 1))}; });
}

void add_reductions(CompositionList& list) {
  for (int axis : {1, 0}) {
    for (std::int64_t length : {3, 10, 64, 100, 300, 1000, 5000, 50257, 262144})
      list.add((axis == 1 ? "sum_rows_" : "sum_cols_") + std::to_string(length), {{list.scaled(kFullElements / length), length}}, [axis](Inputs v) -> Outputs { return {sum(v[0], axis)}; });
  }
  const std::int64_t rows = list.scaled(16384), n = list.scaled(256);
  list.add("var_axis0", {{rows, 8192}}, [](Inputs v) -> Outputs { return {var(v[0], 0)}; });
  list.add("var_axis1", {{rows, 8192}}, [](Inputs v) -> Outputs { return {var(v[0], 1)}; });
  list.add("var_all", {{rows, 8192}}, [](Inputs v) -> Outputs { return {var(v[0])}; });
  list.add("mean_std_axis0", {{rows, 8192}}, [](Inputs v) -> Outputs { return {mean(v[0], 0), stddev(v[0], 0)}; });
  list.add("weighted_var", {{rows, 8192}, {8192}}, [](Inputs v) -> Outputs {
    const Variable weights = v[1] / sum(v[1]), average = sum(v[0] * weights, 1, keepdims);
    return {average, sum(weights * sqr(v[0] - average), 1)};
  });
  const auto greatest_along = [](int axis) {
    return [axis](Inputs v) -> Outputs {
      const auto greatest = max_and_argmax(v[0], axis);
      return {greatest.values, greatest.positions};
    };
  };
  list.add("top1_value", {{rows, 8192}}, greatest_along(1));
  list.add("top1_value_axis0", {{rows, 8192}}, greatest_along(0));
  list.add("top1_300", {{list.scaled(kFullElements / 300), 300}}, greatest_along(1));
  list.add("middle_sum", {{n, 512, 1024}}, [](Inputs v) -> Outputs { return {sum(v[0], 1)}; });
  list.add("middle_mean_max", {{n, 512, 1024}}, [](Inputs v) -> Outputs { return {mean(v[0], 1), max(v[0], 1)}; });
  list.add("sum_02", {{n, 512, 1024}}, [](Inputs v) -> Outputs { return {sum(v[0], {0, 2})}; });
  list.add("row_col_sums", {{rows, 8192}}, [](Inputs v) -> Outputs { return {sum(v[0], 0), sum(v[0], 1), max(v[0])}; });
  list.add("row_scale_colsum", {{rows, 8192}, {rows}}, [](Inputs v) -> Outputs { return {sum(v[0] * expand_dims(v[1], 1), 0)}; });
  list.add("batched_dots", {{list.scaled(2048), 64, 1024}, {list.scaled(2048), 64, 1024}}, [](Inputs v) -> Outputs { return {sum(v[0] * v[1], 2)}; });
  list.add("gemv", {{rows, 8192}, {8192}}, [](Inputs v) -> Outputs { return {dot(v[0], v[1])}; });
  list.add("gemv_t", {{rows, 8192}, {rows}}, [](Inputs v) -> Outputs { return {dot(v[1], v[0])}; });
  list.add("pool_2x2", {{list.scaled(2048), 256, 256}}, [](Inputs v) -> Outputs { return {max(reshape(v[0], {v[0].dims()[0], 128, 2, 128, 2}), {2, 4})}; });
  list.add("any_nan_rows", {{rows, 8192}}, [](Inputs v) -> Outputs { return {any(isnan(v[0]), 1)}; });
  list.add("sqdist_argmin", {{list.scaled(1 << 20), 3}, {64, 3}}, [](Inputs v) -> Outputs { return {argmin(sum(sqr(expand_dims(v[0], 1) - v[1]), 2), 1)}; });
}

void add_prefix_sums(CompositionList& list) {
  const std::vector<Shape> wide{{list.scaled(16384), 8192}};
  list.add("cumsum_exp", wide, [](Inputs v) -> Outputs { return {cumsum(exp(v[0]), 1)}; });
  list.add("cumsum_reverse", wide, [](Inputs v) -> Outputs { return {cumsum(v[0], 1, {.reverse = true})}; });
  list.add("cumsum_middle", {{list.scaled(256), 512, 1024}}, [](Inputs v) -> Outputs { return {cumsum(v[0], 1)}; });
  list.add("cumsum_100", {{list.scaled(kFullElements / 100), 100}}, [](Inputs v) -> Outputs { return {cumsum(v[0], 1)}; });
  list.add("cummax_rows", wide, [](Inputs v) -> Outputs { return {cummax(v[0], 1)}; });
  list.add("cumprod_rows", wide, [](Inputs v) -> Outputs { return {cumprod(v[0], 1)}; });
}

void add_layouts(CompositionList& list) {
  const std::int64_t rows = list.scaled(16384);
  const auto channels_first = [](Inputs v) -> Outputs { return {contiguous(dimshuffle(v[0], {0, 2, 1}))}; };
  list.add("nhwc_to_nchw", {{list.scaled(256), 4096, 128}}, channels_first);
  list.add("nhwc3_to_nchw", {{list.scaled(256), 174762, 3}}, channels_first);
  list.add("heads_transpose", {{list.scaled(64), 1024, 32, 64}}, [](Inputs v) -> Outputs { return {contiguous(dimshuffle(v[0], {0, 2, 1, 3}))}; });
  list.add({.name = "pixels",
            .shapes = {{3}, {3}, {list.scaled(2048), 224 * 224, 3}},
            .graph = [](Inputs v) -> Outputs { return {contiguous(dimshuffle((astype(v[2], v[0].dtype()) / 255.0 - v[0]) / v[1], {0, 2, 1}))}; },
            .classes = 256,
            .labels = uint8});
  list.add("flip_add", {{rows, 8192}, {rows, 8192}}, [](Inputs v) -> Outputs { return {flip(v[0], 1) + v[1]}; });
  list.add("every_other", {{rows, 8192}}, [](Inputs v) -> Outputs { return {subtensor(v[0], {ellipsis, {0, {}, 2}}) * 2}; });
  list.add("quantize_rows", {{rows, 8192}}, [](Inputs v) -> Outputs {
    const Variable unit = max(abs(v[0]), 1, keepdims) / 127.0;
    return {astype(round_half_to_even(v[0] / unit), int8), unit};
  });
  list.add("scaled_rows_outer", {{rows}, {8192}}, [](Inputs v) -> Outputs { return {exp(-sqr(expand_dims(v[0], 1) - v[1]))}; });
}

}  // namespace

std::vector<Workload> compositions(std::int64_t elements) {
  std::vector<Workload> all;
  for (DType dtype : {float32, bfloat16}) {
    CompositionList list(all, elements, dtype);
    add_norms(list);
    add_rotations_and_gates(list);
    add_softmaxes(list);
    add_losses(list);
    add_reductions(list);
    add_prefix_sums(list);
    add_layouts(list);
    add_cells(list);
    add_similarities(list);
    add_grids(list);
    add_images_and_signals(list);
    add_losses_and_updates(list);
  }
  return all;
}

}  // namespace damo::bench
