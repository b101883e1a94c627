// More compositions: cells of recurrent networks and their gradients, losses of similarity, differences and means of neighbours on grids, statistics that are kept from call to call.
#include <cmath>

#include "composition_list.hpp"

namespace damo::bench {
namespace {

using Inputs = CompositionList::Inputs;
using Outputs = CompositionList::Outputs;

/// State and output of a cell, of its four gates side by side and its state.
Outputs lstm_cell(const Variable& gates, const Variable& state) {
  const std::int64_t n = state.dims()[1];
  const auto parts = split(gates, {n, n, n, n}, 1);
  const Variable next = sigmoid(parts[1]) * state + sigmoid(parts[0]) * tanh(parts[2]);
  return {next, sigmoid(parts[3]) * tanh(next)};
}

/// x without so many elements at the beginning and the end of an axis of a matrix.
Variable inner(const Variable& x, std::int64_t row, std::int64_t column) {
  const std::int64_t rows = x.dims()[0] - 2, columns = x.dims()[1] - 2;
  return subtensor(x, {{row, row + rows}, {column, column + columns}});
}

}  // namespace

void add_cells(CompositionList& list) {
  const std::int64_t rows = list.scaled(32768);
  list.add("lstm_cell", {{rows, 4096}, {rows, 1024}}, [](Inputs v) -> Outputs { return lstm_cell(v[0], v[1]); });
  list.add("lstm_cell_grad", {{rows, 4096}, {rows, 1024}, {rows, 1024}, {rows, 1024}}, [](Inputs v) -> Outputs {
    const Outputs cell = lstm_cell(v[0], v[1]);
    return lop({cell[0], cell[1]}, {v[2], v[3]}, {v[0], v[1]});
  });
  list.add("gru_cell", {{rows, 3072}, {rows, 3072}, {rows, 1024}}, [](Inputs v) -> Outputs {
    const auto x = split(v[0], {1024, 1024, 1024}, 1), h = split(v[1], {1024, 1024, 1024}, 1);
    const Variable update = sigmoid(x[0] + h[0]), made = tanh(x[2] + sigmoid(x[1] + h[1]) * h[2]);
    return {made + update * (v[2] - made)};
  });
  list.add(
      "running_batch_norm", {{list.scaled(256), 128, 4096}, {128, 1}, {128, 1}, {128, 1}, {128, 1}}, [](Inputs v) -> Outputs {
        const Variable average = mean(v[0], {0, 2}, keepdims), spread = mean(sqr(v[0] - average), {0, 2}, keepdims);
        return {(v[0] - average) * rsqrt(spread + 1e-5) * v[1] + v[2], 0.9 * v[3] + 0.1 * reshape(average, {128, 1}), 0.9 * v[4] + 0.1 * reshape(spread, {128, 1})};
      },
      kFullElements);
  list.add("dropout_layernorm", {{list.scaled(16384), 4096}, {list.scaled(16384), 4096}, {4096}, {4096}}, [](Inputs v) -> Outputs {
    RandomStream random(5);
    const Variable sum = random.dropout(v[0], 0.1) + v[1], average = mean(sum, 1, keepdims);
    return {sum, (sum - average) * rsqrt(mean(sqr(sum - average), 1, keepdims) + 1e-5) * v[2] + v[3]};
  });
}

void add_similarities(CompositionList& list) {
  const std::int64_t rows = list.scaled(65536);
  const auto cosine = [](const Variable& a, const Variable& b) { return sum(a * b, 1) / (norm(a, 1) * norm(b, 1)); };
  list.add("cosine_grad", {{rows, 1024}, {rows, 1024}, {rows}}, [=](Inputs v) -> Outputs { return gradients(cosine(v[0], v[1]), v[2], {v[0], v[1]}); });
  list.add("triplet_grad", {{rows, 512}, {rows, 512}, {rows, 512}}, [](Inputs v) -> Outputs {
    const Variable loss = mean(relu(norm(v[0] - v[1], 1) - norm(v[0] - v[2], 1) + 1.0));
    return {loss, grad(loss, v[0])};
  });
  list.add("focal_grad", {{rows, 1024}, {rows, 1024}}, [](Inputs v) -> Outputs {
    const Variable p = sigmoid(v[0]), miss = p + v[1] - 2.0 * p * v[1], loss = mean(sqr(miss) * sigmoid_cross_entropy(v[0], v[1]));
    return {loss, grad(loss, v[0])};
  });
  list.add("dice_grad", {{list.scaled(1024), 65536}, {list.scaled(1024), 65536}}, [](Inputs v) -> Outputs {
    const Variable p = sigmoid(v[0]), loss = mean(1.0 - (2.0 * sum(p * v[1], 1) + 1.0) / (sum(p, 1) + sum(v[1], 1) + 1.0));
    return {loss, grad(loss, v[0])};
  });
  list.add("info_nce", {{list.scaled(8192), 16384}}, [](Inputs v) -> Outputs {
    const Variable scaled = v[0] * 14.0, right = eq(index_along(v[0], 0), index_along(v[0], 1));
    return {mean(logsumexp(scaled, 1)) + mean(logsumexp(scaled, 0)) - 2.0 * mean(sum(where(right, scaled, 0.0), 1))};
  });
  list.add("mixture_log", {{list.scaled(1 << 23), 16}, {16}, {16}}, [](Inputs v) -> Outputs { return {logsumexp(v[1] - 0.5 * sqr(v[0]) * v[2], 1)}; });
  list.add("drawdown", {{list.scaled(16384), 8192}}, [](Inputs v) -> Outputs { return {max(cummax(v[0], 1) - v[0], 1)}; });
  list.add("top2_margin", {{list.scaled(16384), 8192}}, [](Inputs v) -> Outputs {
    const auto greatest = max_and_argmax(v[0], 1);
    return {greatest.values - max(where(eq(index_along(v[0], 1), expand_dims(greatest.positions, 1)), -INFINITY, v[0]), 1), greatest.positions};
  });
}

void add_grids(CompositionList& list) {
  const std::int64_t rows = list.scaled(16384);
  list.add("difference", {{rows, 8192}}, [](Inputs v) -> Outputs { return {subtensor(v[0], {ellipsis, {1, {}}}) - subtensor(v[0], {ellipsis, {{}, -1}})}; });
  list.add("laplacian", {{rows + 2, 8192 + 2}}, [](Inputs v) -> Outputs { return {inner(v[0], 0, 1) + inner(v[0], 2, 1) + inner(v[0], 1, 0) + inner(v[0], 1, 2) - 4.0 * inner(v[0], 1, 1)}; });
  list.add("gradient_energy", {{rows, 8192}}, [](Inputs v) -> Outputs {
    const std::int64_t n = v[0].dims()[0] - 1;
    const Variable at = subtensor(v[0], {{0, n}, {0, 8191}});
    return {mean(sqr(subtensor(v[0], {{1, n + 1}, {0, 8191}}) - at) + sqr(subtensor(v[0], {{0, n}, {1, 8192}}) - at))};
  });
  list.add("symmetric", {{8192, 8192}}, [](Inputs v) -> Outputs { return {0.5 * (v[0] + transpose(v[0]))}; });
  list.add("upsample_2x2", {{list.scaled(512), 256, 256}}, [](Inputs v) -> Outputs { return {repeat(repeat(v[0], 2, 1), 2, 2)}; });
  list.add("pad_image", {{list.scaled(2048), 254, 254}}, [](Inputs v) -> Outputs { return {pad(v[0], {{0, 0}, {1, 1}, {1, 1}})}; });
  list.add("pad_relu", {{list.scaled(2048), 254, 254}}, [](Inputs v) -> Outputs { return {pad(relu(v[0]), {{0, 0}, {1, 1}, {1, 1}})}; });
  list.add("difference_grad", {{rows, 8192}}, [](Inputs v) -> Outputs { return {grad(mean(sqr(subtensor(v[0], {ellipsis, {1, {}}}) - subtensor(v[0], {ellipsis, {{}, -1}}))), v[0])}; });
  list.add("laplacian_grad", {{rows + 2, 8192 + 2}}, [](Inputs v) -> Outputs {
    return {grad(mean(sqr(inner(v[0], 0, 1) + inner(v[0], 2, 1) + inner(v[0], 1, 0) + inner(v[0], 1, 2) - 4.0 * inner(v[0], 1, 1))), v[0])};
  });
  list.add("roll_add", {{rows, 8192}}, [](Inputs v) -> Outputs { return {v[0] + roll(v[0], 1, 1)}; });
  list.add("mean_pool_nhwc", {{list.scaled(256), 64, 64, 128}}, [](Inputs v) -> Outputs { return {mean(reshape(v[0], {v[0].dims()[0], 32, 2, 32, 2, 128}), {2, 4})}; });
  list.add({.name = "embedding_bag",
            .shapes = {{list.scaled(50304), 256}, {list.scaled(32768), 16}},
            .graph = [](Inputs v) -> Outputs { return {mean(take(v[0], v[1], 0), 1)}; },
            .classes = list.scaled(50304)});
  list.add(
      "quantize_columns", {{rows, 8192}}, [](Inputs v) -> Outputs {
        const Variable unit = max(abs(v[0]), 0, keepdims) / 127.0;
        return {astype(round_half_to_even(v[0] / unit), int8), unit};
      },
      kFullElements);
  list.add("middle_softmax_scale", {{list.scaled(64), 512, 64, 64}, {64, 1}}, [](Inputs v) -> Outputs { return {softmax(v[0] * v[1], 1)}; });
  list.add("black_scholes", {{rows, 4096}, {rows, 4096}}, [](Inputs v) -> Outputs {
    const Variable spot = 50.0 + 50.0 * sigmoid(v[0]), time = 0.1 + sqr(v[1]), root = 0.3 * sqrt(time), d1 = (log(spot / 75.0) + 0.065 * time) / root, d2 = d1 - root;
    const auto normal = [](const Variable& d) { return 0.5 * (1.0 + erf(d * 0.70710678)); };
    return {spot * normal(d1) - 75.0 * exp(-0.02 * time) * normal(d2)};
  });
}

}  // namespace damo::bench
