// gpt2_step/cuda: a training step of GPT-2's shape with 124 million parameters on 16 x 1,024 tokens: products in bfloat16, parameters, moments, norms and the
// loss in float32, AdamW without clipping, as bench/peers/training.py's gpt2_124m. compile_s: function() with an empty kernel cache. operations: those of
// the matrix products, causal attention counted by half.
#include <damo/damo.hpp>

#include "../examples/support/transformer.hpp"
#include "benchmarks.hpp"
#include "runtime/backend.hpp"

namespace damo::bench {
namespace {

constexpr std::int64_t kBatch = 16, kVocabulary = 50304;

double operations_of_a_step(const examples::TransformerSize& size) {
  const double tokens = static_cast<double>(kBatch * size.context), features = static_cast<double>(size.features);
  const double block = 12 * features * features + static_cast<double>(size.context) * features;  // the second: two products, half of each needed
  return 6 * tokens * (size.blocks * block + features * static_cast<double>(kVocabulary));
}

void run_gpt2(benchmark::State& state, const Target& target, Effort effort) {
  const examples::TransformerSize size = examples::kGpt2;
  nn::Init init(1, float32, target.device);
  const examples::Transformer model(init, kVocabulary, size);
  const std::vector<Shared> parameters = model.parameters();
  const Variable words = input({int32, {kBatch, size.context}}, "words"), next = input({int32, {kBatch, size.context}}, "next");
  const auto start = Clock::now();
  const Variable cost = mean(cross_entropy(model(words), next));
  const Function step = function({words, next}, {cost}, {.device = target.device, .updates = optim::adamw(cost, parameters, 1e-4)});
  state.counters["compile_s"] = seconds_since(start);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(kBatch * size.context + 1));
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i * 2654435761u % 50257u);
  const Shape shape{kBatch, size.context};
  const std::vector<Array> batch{Array::from(std::vector(tokens.begin(), tokens.end() - 1), shape, target.device), Array::from(std::vector(tokens.begin() + 1, tokens.end()), shape, target.device)};
  for (int i = 0; i < 3; ++i) step.call(batch);
  const std::uint64_t before = target.device.backend().launches;
  step.call(batch);
  state.counters["launches"] = static_cast<double>(target.device.backend().launches - before);
  report(state, time_calls([&] { step.call(batch); }, [&] { target.device.synchronize(); }, effort));
  state.counters["operations"] = operations_of_a_step(size);
  state.SetItemsProcessed(kBatch * size.context);
  target.device.free_cache();
}

}  // namespace

void add_transformers(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    if (!target.device.is_host()) add("gpt2_step/" + target.name, [=](benchmark::State& state) { run_gpt2(state, target, effort); });
  }
}

}  // namespace damo::bench
