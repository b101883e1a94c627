// SpecKernel: a KernelSpec on one device, with the code compiled for it so far, one module a Layout. BoundKernel: a
// SpecKernel with the shapes and strides of one call worked out; running it patches pointers and launches.
//
// Binding new shapes compiles nothing as long as some compiled layout serves them. A layout that none serves is compiled
// at that moment, with a debug log line.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

class LaunchClock;
class ScheduleTrial;
class ScheduleTrials;
class Scratch;
class WorkLog;

/// Who chose how a kernel shares its work out.
enum class ScheduleOrigin : std::uint8_t {
  kOnly,      ///< the model, which has nothing else about as fast
  kModel,     ///< the model; others may be measured later
  kMeasured,  ///< the fastest that was measured (schedule_trial.hpp)
  kReplaced   ///< the model, until another was measured to be faster
};

class SpecKernel {
 public:
  /// contracts: see CompileOptions.
  SpecKernel(KernelSpec spec, Backend& backend, bool contracts = true);

  const KernelSpec& spec() const { return spec_; }
  bool contracts() const { return contracts_; }
  Backend& backend() const { return backend_; }

  /// The spec as the text of the layout has it: what fits 32 bits there in 32 (short_integers.hpp), and sought elements where the target takes them (sought_elements.hpp). Its inputs, outputs and numbers are spec()'s.
  const KernelSpec& spec_of(const Layout& layout) const { return form(layout.digits); }
  /// That of layout_of(), of which numbers are told there.
  const KernelSpec& spec_for(const Geometry& geometry, std::span<const Scalar> numbers = {}) const;

  /// The layout of these arrays as this device tells layouts apart. numbers: in the place of the spec's; empty: the spec's.
  Layout layout_of(const Geometry& geometry, bool in_place = false, std::span<const Scalar> numbers = {}) const;
  struct Variant {
    Layout layout;
    std::vector<std::shared_ptr<const LoadedKernel>> kernels;  ///< by entry; mostly one
    mutable std::atomic<int> threads = 0;                      ///< of a block of the first entry, as last bound; 0: not yet
    mutable std::atomic<std::uint32_t> shared_bytes = 0;       ///< beside them: dynamic shared memory
    mutable std::atomic<ScheduleOrigin> origin = ScheduleOrigin::kOnly;  ///< as last bound

    Variant(Layout of, std::vector<std::shared_ptr<const LoadedKernel>> code) : layout(std::move(of)), kernels(std::move(code)) {}
  };
  struct Choice {
    Layout layout;
    std::shared_ptr<ScheduleTrial> trial;  ///< null: nothing is to be measured
  };
  /// layout_of, or the schedule that was measured to be faster.
  Choice choose(const Geometry& geometry, bool in_place = false, std::span<const Scalar> numbers = {});
  /// What compiles the layout.
  CompileRequest request(const Layout& layout) const;
  void add(const Layout& layout, std::shared_ptr<const LoadedModule> module);
  /// For the caller alone.
  std::unique_ptr<Variant> make_variant(const Layout& layout, const LoadedModule& module) const;
  bool has(const Layout& layout) const;
  /// Whether there is compiled code that serves the layout for count elements.
  bool is_served(const Layout& layout, std::int64_t count) const { return find(layout, count) != nullptr; }

  /// Compiled code that serves the layout for count elements, compiling if there is none.
  const Variant& variant(const Layout& layout, std::int64_t count);
  /// The code of this layout and no other, whose argument block has other fields: of a launch with the block of another text for the same arrays.
  const Variant& exact_variant(const Layout& layout);
  /// Every variant, for explain().
  std::vector<const Variant*> variants() const;
  std::string source(const Layout& layout) const;

 private:
  const Variant* find(const Layout& layout, std::int64_t count) const;
  const KernelSpec& form(const std::vector<int>& digits) const;
  std::vector<int> layout_digits(const Geometry& geometry, std::span<const Scalar> numbers) const;

  KernelSpec spec_;
  Backend& backend_;
  bool contracts_;
  bool seeks_;  // the text has sought elements (sought_elements.hpp)
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Variant>> variants_;  // few; never removed
  struct Known {
    Layout layout;       // the model's
    std::string shapes;  // beside the layout
    std::shared_ptr<ScheduleTrial> trial;
  };
  std::vector<Known> known_;  // of choose()
  mutable std::mutex forms_mutex_;
  mutable std::map<std::vector<int>, KernelSpec> forms_;              // by Layout::digits; never removed
  mutable std::map<std::vector<int>, std::vector<int>> most_digits_;  // by those of launches: Layout::digits
};

/// Bytes of all arrays, repeated elements once.
std::size_t bytes_of(const KernelSpec& spec, const Geometry& geometry);

/// arrays: of the spec's inputs and outputs but for its ordinals, which are counted over the space.
Geometry geometry_of(const KernelSpec& spec, const Shape& space, std::span<const ArrayLayout> arrays, std::uint32_t reduced_axes = 0);

/// <damo/thunk.hpp>'s: says that code of the kernel for the layout will be launched, over so many elements, and gives whether there is some.
using WantKernel = std::function<bool(SpecKernel& kernel, const Layout& layout, std::int64_t count)>;

class BoundKernel {
 public:
  /// numbers: in the place of the spec's, which stand for any of their dtypes; they must live until it is bound. Empty: the spec's.
  explicit BoundKernel(SpecKernel& kernel, std::span<const Scalar> numbers = {});

  /// arrays: inputs but for ordinals, then outputs; they number the parameters here. Each but for tables, which lie in C order, broadcasts to the space, so what a row has one of keeps its reduced axes with extent
  /// 1. reduced_axes: bit a for axis a, where the spec reduces. in_place: see Layout; otherwise no output shares memory
  /// with another array. want: not null where code that is missing is to be compiled later, with others': gives false then, and has bound nothing.
  bool bind(const Shape& space, std::span<const ArrayLayout> arrays, bool in_place = false, std::uint32_t reduced_axes = 0, const WantKernel* want = nullptr);
  /// Of a spec with turns; also before its first launch.
  void set_run(const LoopRun& run) {
    if (!launches_.empty()) block_.set_run(kernel_->spec(), run);
  }
  void set_pointer(int parameter, const void* address) {
    if (launches_.empty()) return;
    block_.set_pointer(parameters_[static_cast<std::size_t>(parameter)], address);
    if (!finished_.empty()) finished_[static_cast<std::size_t>(parameter)].address = address;
  }
  /// Of an array that is taken.
  void set_positions(int parameter, const void* address) {
    if (!launches_.empty()) block_.set_positions(parameters_[static_cast<std::size_t>(parameter)], address);
  }
  /// See ArgumentBlock::set_flag; nothing of a spec without guarded outputs. Once it is bound.
  void set_flag(const void* address) {
    if (!launches_.empty() && kernel_->spec().has_guards()) block_.set_flag(address);
  }
  /// The element of an input that the spec passes by value, in the bits' first bytes.
  void set_value(int parameter, std::uint64_t bits) {
    if (!launches_.empty()) block_.set_value(parameters_[static_cast<std::size_t>(parameter)], bits);
  }
  /// What a launch needs beside its arrays: a Scratch.
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// is_last: nothing follows in the node's step of a log, so that joins left to a second launch are waited for by their readers alone.
  void launch(void* stream, bool is_last = false);

 private:
  SpecKernel* kernel_;
  std::span<const Scalar> numbers_;
  struct Launch {
    const LoadedKernel* code;
    LaunchConfig config;
  };
  /// What measuring schedules takes (timed_launch.cpp), until one is settled.
  struct Undecided {
    std::shared_ptr<ScheduleTrials> trials;
    std::shared_ptr<ScheduleTrial> trial;
    Geometry geometry;
    std::size_t arrays_bytes;                              // of all arrays
    struct Range {
      int parameter;
      std::int64_t first;  // bytes from its address
      std::size_t bytes;
    };
    std::vector<Range> arrays;  // but for values that the launch has
  };
  /// What the second launch may touch of an array: the first one leaves it joins of rows, or of columns, to finish.
  struct Finished {
    const void* address = nullptr;
    std::int64_t first = 0;  // bytes from there
    std::size_t bytes = 0;   // 0: nothing, as the array has an element for each of the space's
    bool writes = false;
  };
  void prepare(const SpecKernel::Variant& variant, const Geometry& geometry, std::size_t bytes);
  void run(void* stream, bool is_last);
  void await_choice(std::shared_ptr<ScheduleTrial> trial, Geometry geometry, std::size_t bytes, std::span<const ArrayLayout> arrays);
  void decide(void* stream);
  void measure(void* stream);
  bool may_run_again() const;
  std::vector<std::vector<double>> times_of(const ScheduleTrial& trial, LaunchClock& clock, void* stream) const;
  void end(const ScheduleTrial& trial);
  void take(const SpecKernel::Variant& variant, const Undecided& undecided);
  void bind_finish(const Shape& space, std::span<const ArrayLayout> arrays, std::uint32_t reduced_axes);
  void note_finish(WorkLog& log, const Scratch& scratch) const;

  const std::vector<Launch>& unaligned_launches();

  const SpecKernel::Variant* variant_ = nullptr;
  std::vector<Launch> launches_;     // none: nothing to do
  std::vector<Launch> unaligned_;    // of Dialect::unaligned, from the first launch on that wants them
  std::vector<Finished> finished_;   // by array; empty: one launch
  std::vector<int> parameters_;   // of the arrays
  std::size_t scratch_bytes_ = 0, zeroed_bytes_ = 0;
  ArgumentBlock block_;
  std::shared_ptr<const Undecided> undecided_;  // null: the schedule is settled
};

}  // namespace damo
