// StepDraws: random draws in the step of a loop, which is written once and computed often. While a thread writes a step, a stream of a shared state draws from a
// state that belongs to the loop instead: it begins with words of the stream, and each step goes on where the one before was.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

class StepDraws {
 public:
  struct Stream {
    Variable of;     ///< the shared state
    Variable state;  ///< of the step: uint64 (2,)
    Variable key, counter;
    std::uint64_t draws = 0;
    std::function<Variable()> words;  ///< draws two words of the stream
    /// What the loop begins with, and what a step leaves for the next one.
    Variable initial(SourceLine) const { return words(); }
    Variable next(SourceLine line) const;
  };
  /// While it lives the thread's draws are the step's.
  class Scope {
   public:
    explicit Scope(StepDraws& draws);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    StepDraws* before_;
  };

  /// Of the step that the thread writes; null if it writes none.
  static StepDraws* current();
  Stream& stream(const Variable& shared_state, SourceLine line, std::function<Variable()> words);
  const std::deque<Stream>& streams() const { return streams_; }

 private:
  std::deque<Stream> streams_;
};

}  // namespace damo
