// Compositions of training: losses and their gradients, steps of optimizers that look at all weights first, numbers of 8 bits with their scales, masks, statistics that follow from rows and columns.
#include <cmath>

#include "composition_list.hpp"
#include "formulas.hpp"

namespace damo::bench {
namespace {

using Inputs = CompositionList::Inputs;
using Outputs = CompositionList::Outputs;

/// (rows, columns) in int8 and the scale of each group of 128 columns, (rows, columns / 128, 1).
Outputs quantized_groups(const Variable& x) {
  const Variable groups = reshape(x, {x.dims()[0], x.dims()[1] / 128, 128}), unit = max(abs(groups), 2, keepdims) / 127.0;
  return {reshape(astype(round_half_to_even(groups / maximum(unit, 1e-8)), int8), x.dims()), unit};
}

Variable swiglu_halves(const Variable& x) {
  const std::int64_t n = x.dims()[1] / 2;
  const auto parts = split(x, {n, n}, 1);
  return silu(parts[0]) * parts[1];
}

void add_losses_with_gradients(CompositionList& list) {
  const std::int64_t rows = list.scaled(16384);
  list.add("gaussian_nll_grad", {{rows, 4096}, {rows, 4096}, {rows, 4096}}, [](Inputs v) -> Outputs {
    const Variable loss = mean(0.5 * (v[1] + sqr(v[2] - v[0]) * exp(-v[1])));
    return {loss, grad(loss, v[0]), grad(loss, v[1])};
  });
  list.add("vae_latent_grad", {{list.scaled(262144), 256}, {list.scaled(262144), 256}, {list.scaled(262144), 256}}, [](Inputs v) -> Outputs {
    RandomStream random(11);
    const Variable latent = v[0] + exp(0.5 * v[1]) * random.normal(v[0], 0, 1, v[0].dtype()), divergence = 0.5 * sum(sqr(v[0]) + exp(v[1]) - v[1] - 1.0, 1);
    const Variable average = mean(divergence);
    const Outputs by_latent = gradients(latent, v[2], {v[0], v[1]});
    return {divergence, by_latent[0] + grad(average, v[0]), by_latent[1] + grad(average, v[1])};
  });
  list.add("distillation_grad", {{rows, 4096}, {rows, 4096}}, [](Inputs v) -> Outputs {
    const Variable log_student = log_softmax(v[0] * 0.25, 1), log_teacher = log_softmax(v[1] * 0.25, 1), loss = 16.0 * mean(sum(exp(log_teacher) * (log_teacher - log_student), 1));
    return {loss, grad(loss, v[0])};
  });
  list.add("entropy_grad", {{rows, 8192}}, [](Inputs v) -> Outputs {
    const Variable log_p = log_softmax(v[0], 1), entropy = -sum(exp(log_p) * log_p, 1);
    return {entropy, grad(mean(entropy), v[0])};
  });
  list.add({.name = "z_loss_grad",
            .shapes = {{rows, 8192}, {rows}},
            .graph = [](Inputs v) -> Outputs {
              const Variable loss = mean(cross_entropy(v[0], v[1]) + 1e-4 * sqr(logsumexp(v[0], 1)));
              return {loss, grad(loss, v[0])};
            },
            .classes = 8192});
  list.add("policy_loss_grad", {{list.scaled(1 << 20), 64}, {list.scaled(1 << 20), 64}, {list.scaled(1 << 20), 1}}, [](Inputs v) -> Outputs {
    const Variable log_p = log_softmax(v[0], 1), ratio = exp(log_p - v[1]), gain = minimum(ratio * v[2], clip(ratio, 0.8, 1.2) * v[2]), loss = -mean(gain) + 0.01 * mean(sum(exp(log_p) * log_p, 1));
    return {loss, grad(loss, v[0])};
  });
  list.add("swiglu_halves_grad", {{rows, 8192}, {rows, 4096}}, [](Inputs v) -> Outputs { return gradients(swiglu_halves(v[0]), v[1], {v[0]}); });
  list.add("weight_standardization_grad", {{list.scaled(16384), 512, 3, 3}, {list.scaled(16384), 512, 3, 3}}, [](Inputs v) -> Outputs { return gradients(standardized(v[0], {1, 2, 3}), v[1], {v[0]}); });
  list.add({.name = "key_mask_softmax_grad",
            .shapes = {{list.scaled(8), 8, 1024, 1024}, {list.scaled(8), 8, 1024, 1024}, {list.scaled(8), 1, 1, 1024}},
            .graph = [](Inputs v) -> Outputs { return gradients(softmax(where(v[2], v[0] * 0.125, -INFINITY), 3), v[1], {v[0]}); },
            .classes = 2,
            .labels = bool_});
}

void add_updates(CompositionList& list) {
  const std::int64_t n = list.scaled(1 << 25);
  const auto moments = [](Inputs v) -> Outputs { return {0.9 * v[1] + 0.1 * v[3], 0.999 * v[2] + 0.001 * sqr(v[3])}; };
  list.add(
      "lamb", {{n}, {n}, {n}, {n}}, [=](Inputs v) -> Outputs {
        const Outputs kept = moments(v);
        const Variable update = kept[0] / (sqrt(kept[1]) + 1e-6) + 0.01 * v[0];
        return {v[0] - 0.001 * norm(v[0]) / norm(update) * update, kept[0], kept[1]};
      },
      3 * n);
  list.add(
      "adam_clipped", {{n}, {n}, {n}, {n}}, [=](Inputs v) -> Outputs {
        const Variable clipped = v[3] * minimum(1.0, 1.0 / (norm(v[3]) + 1e-6));
        const Outputs kept = moments(std::vector<Variable>{v[0], v[1], v[2], clipped});
        return {v[0] - 0.001 * kept[0] / (sqrt(kept[1]) + 1e-8), kept[0], kept[1]};
      },
      n);
  list.add(
      "adafactor", {{8192, list.scaled(8192)}, {8192, list.scaled(8192)}, {8192, 1}, {1, list.scaled(8192)}}, [](Inputs v) -> Outputs {
        const Variable squares = sqr(v[1]) + 1e-30, by_row = 0.99 * v[2] + 0.01 * mean(squares, 1, keepdims), by_column = 0.99 * v[3] + 0.01 * mean(squares, 0, keepdims);
        return {v[0] - 0.01 * v[1] * rsqrt(by_row * by_column / mean(by_row)), by_row, by_column};
      },
      8192 * list.scaled(8192));
}

void add_eight_bits(CompositionList& list) {
  const std::int64_t rows = list.scaled(16384);
  list.add({.name = "dequantize_gelu",
            .shapes = {{rows, 64, 1}, {rows, 64, 128}},
            .graph = [](Inputs v) -> Outputs { return {gelu_tanh(astype(v[1], v[0].dtype()) * v[0])}; },
            .classes = 127,
            .labels = int8});
  list.add("quantize_groups", {{rows, 8192}}, [](Inputs v) -> Outputs { return quantized_groups(v[0]); });
  list.add("swiglu_quantize_groups", {{rows, 16384}}, [](Inputs v) -> Outputs { return quantized_groups(swiglu_halves(v[0])); });
  list.add("residual_rmsnorm_quantize", {{rows, 4096}, {rows, 4096}, {4096}}, [](Inputs v) -> Outputs {
    const Variable h = v[0] + v[1], y = rms_norm(h, v[2]), unit = max(abs(y), 1, keepdims) / 127.0;
    return {h, astype(round_half_to_even(y / unit), int8), unit};
  });
  list.add({.name = "unpack_nibbles",
            .shapes = {{rows, 64, 1}, {rows, 64, 64}},
            .graph = [](Inputs v) -> Outputs {
              const Variable low = v[1] & 15, high = right_shift(v[1], 4), both = stack({low, high}, 3);
              return {reshape((astype(both, v[0].dtype()) - 8.0) * expand_dims(v[0], 3), {v[0].dims()[0], 8192})};
            },
            .classes = 256,
            .labels = uint8});
}

void add_masks_and_heads(CompositionList& list) {
  const std::int64_t rows = list.scaled(16384), n = list.scaled(64);
  list.add({.name = "masked_mean",
            .shapes = {{list.scaled(256), 512, 1024}, {list.scaled(256), 512}},
            .graph = [](Inputs v) -> Outputs {
              const Variable weight = astype(v[1], v[0].dtype());
              return {sum(v[0] * expand_dims(weight, 2), 1) / maximum(sum(weight, 1, keepdims), 1.0)};
            },
            .classes = 2,
            .labels = bool_});
  list.add("key_bias_softmax", {{list.scaled(16), 8, 1024, 1024}, {list.scaled(16), 1, 1, 1024}}, [](Inputs v) -> Outputs { return {softmax(v[0] * 0.125 + v[1], 3)}; });
  const auto turned_norm = [](Inputs v) {
    const auto x = split(rms_norm(v[0], v[1]), {64, 64}, 3);
    return concatenate({x[0] * v[2] - x[1] * v[3], x[1] * v[2] + x[0] * v[3]}, 3);
  };
  list.add("qk_norm_rope", {{n, 1024, 16, 128}, {128}, {1024, 1, 64}, {1024, 1, 64}}, [=](Inputs v) -> Outputs { return {turned_norm(v)}; });
  list.add("qk_norm_rope_grad", {{n, 1024, 16, 128}, {128}, {1024, 1, 64}, {1024, 1, 64}, {n, 1024, 16, 128}}, [=](Inputs v) -> Outputs { return gradients(turned_norm(v), v[4], {v[0], v[1]}); });
  list.add("qk_norm_rope_to_heads", {{n, 1024, 16, 128}, {128}, {1024, 1, 64}, {1024, 1, 64}}, [=](Inputs v) -> Outputs { return {contiguous(dimshuffle(turned_norm(v), {0, 2, 1, 3}))}; });
  list.add("norm_of_halves", {{rows, 4096}, {rows, 4096}, {8192}}, [](Inputs v) -> Outputs { return {rms_norm(concatenate({v[0], v[1]}, 1), v[2])}; });
  list.add("norm_swiglu", {{rows, 8192}, {8192}}, [](Inputs v) -> Outputs { return {swiglu_halves(rms_norm(v[0], v[1]))}; });
  list.add("norm_lstm_cell", {{rows, 4096}, {4096}, {4096}, {rows, 1024}}, [](Inputs v) -> Outputs {
    const auto gates = split(layer_norm(v[0], v[1], v[2]), {1024, 1024, 1024, 1024}, 1);
    const Variable state = sigmoid(gates[1]) * v[3] + sigmoid(gates[0]) * tanh(gates[2]);
    return {sigmoid(gates[3]) * tanh(state), state};
  });
  list.add("rmsnorm_to_heads", {{n, 1024, 16, 128}, {128}}, [](Inputs v) -> Outputs { return {contiguous(dimshuffle(rms_norm(v[0], v[1]), {0, 2, 1, 3}))}; });
  list.add("lower_triangle", {{list.scaled(128), 1024, 1024}}, [](Inputs v) -> Outputs { return {where(index_along(v[0], 2) <= index_along(v[0], 1), v[0], 0.0)}; });
  list.add("one_hot_argmax", {{list.scaled(131072), 1024}}, [](Inputs v) -> Outputs { return {one_hot(argmax(v[0], 1), 1024, v[0].dtype())}; });
  list.add("argmin_axis0", {{rows, 8192}}, [](Inputs v) -> Outputs { return {argmin(v[0], 0)}; });
  list.add("middle_argmax", {{list.scaled(256), 512, 1024}}, [](Inputs v) -> Outputs { return {argmax(v[0], 1)}; });
  list.add("bins", {{rows, 8192}, {64}, {65}}, [](Inputs v) -> Outputs { return {take(v[2], searchsorted(sort(v[1]), v[0]), 0)}; });
}

void add_rows_and_columns(CompositionList& list) {
  const std::int64_t rows = list.scaled(16384), square = 8192;
  list.add("rank_one_update", {{rows, 8192}, {rows}, {8192}}, [](Inputs v) -> Outputs { return {0.99 * v[0] + outer(v[1], v[2])}; });
  list.add("mahalanobis", {{list.scaled(1 << 21), 64}, {64}, {64}}, [](Inputs v) -> Outputs { return {sqrt(sum(sqr(v[0] - v[1]) * v[2], 1))}; });
  list.add(
      "sinkhorn_step", {{rows, 8192}}, [](Inputs v) -> Outputs {
        const Variable by_row = v[0] - logsumexp(v[0], 1, keepdims);
        return {by_row - logsumexp(by_row, 0, keepdims)};
      },
      rows * 8192);
  list.add(
      "center_gram", {{square, square}}, [](Inputs v) -> Outputs { return {v[0] - mean(v[0], 1, keepdims) - mean(v[0], 0, keepdims) + mean(v[0])}; }, square* square);
  list.add("column_correlation", {{rows, 8192}, {rows, 8192}}, [](Inputs v) -> Outputs {
    const Variable a = v[0] - mean(v[0], 0), b = v[1] - mean(v[1], 0);
    return {mean(a * b, 0) / (sqrt(mean(sqr(a), 0)) * sqrt(mean(sqr(b), 0)))};
  });
  const auto advantages = [](Inputs v) {
    const Variable difference = v[0] + 0.99 * subtensor(v[1], {{1, {}}}) - subtensor(v[1], {{0, -1}});
    return flip(scan({.sequences = {flip(difference, 0)}, .initial = {zeros_like(subtensor(v[1], {0}))}}, [](const Variable& x, const Variable& later) { return x + 0.9405 * later; })[0], 0);
  };
  list.add("advantages", {{128, list.scaled(1 << 19)}, {129, list.scaled(1 << 19)}}, [=](Inputs v) -> Outputs { return {contiguous(advantages(v))}; });
}

}  // namespace

void add_losses_and_updates(CompositionList& list) {
  add_losses_with_gradients(list);
  add_updates(list);
  add_eight_bits(list);
  add_masks_and_heads(list);
  add_rows_and_columns(list);
}

}  // namespace damo::bench
