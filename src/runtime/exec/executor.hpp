// Executor: runs a Program for any number of threads. Each call takes a free Context, or makes one if all are busy. A
// Context in which a call failed is thrown away, so that the next call starts clean.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <damo/module_options.hpp>
#include <damo/call_plan.hpp>
#include "runtime/exec/context.hpp"

namespace damo {

class Executor {
 public:
  Executor(const FunctionGraph& graph, Device device, bool profile, bool check = ModuleOptions::default_check(), bool share_results = false, bool replay = true,
           std::span<const int> donated = {}, bool guarded = false, bool contracts = true);
  ~Executor();

  /// Checks number, dtype, shape and device of the inputs, then runs. Thread-safe. given_up: none, or the same inputs, of which
  /// the donated ones may become results.
  std::vector<Array> call(std::span<const Array> inputs, std::span<Array> given_up = {});
  /// See Function::plan.
  CallPlan plan(std::span<const Shape> shapes);
  const Program& program() const { return *program_; }
  Profile profile() const;
  /// Frees temporaries and kept outputs of contexts that are not running.
  void free_memory();

 private:
  void check(std::span<const Array> inputs) const;
  void check(std::size_t i, const Array& input) const;
  void check_count(std::size_t count) const;
  std::string label(std::size_t input) const;
  std::vector<std::string> describe_inputs(std::span<const Array> inputs) const;
  std::vector<Array> call_captured(std::span<const Array> inputs, CaptureScope& capture);
  std::unique_ptr<Context> acquire();
  void release(std::unique_ptr<Context> context);

  std::shared_ptr<Program> program_;
  bool replays_;
  std::unique_ptr<ProfileRecorder> recorder_;
  std::atomic<Context*> hot_ = nullptr;  // the context last used: one exchange instead of a lock
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace damo
