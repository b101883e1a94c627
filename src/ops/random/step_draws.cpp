#include "ops/random/step_draws.hpp"

#include <damo/ops/subtensor.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/random/stream_state.hpp"

namespace damo {
namespace {

thread_local StepDraws* step_of_thread = nullptr;

}  // namespace

Variable StepDraws::Stream::next(SourceLine line) const { return state_behind(state, draws, line); }

StepDraws::Scope::Scope(StepDraws& draws) : before_(step_of_thread) { step_of_thread = &draws; }
StepDraws::Scope::~Scope() { step_of_thread = before_; }

StepDraws* StepDraws::current() { return step_of_thread; }

StepDraws::Stream& StepDraws::stream(const Variable& shared_state, SourceLine line, std::function<Variable()> words) {
  for (Stream& stream : streams_) {
    if (stream.of.is_same(shared_state)) return stream;
  }
  const Variable state = input({uint64, {2}}, shared_state.name(), line);
  const At at(line);
  return streams_.emplace_back(Stream{shared_state, state, subtensor(at(state), {0}), subtensor(at(state), {1}), 0, std::move(words)});
}

}  // namespace damo
