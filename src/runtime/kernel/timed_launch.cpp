// Of SpecKernel and BoundKernel: which of several schedules is launched (schedule_trial.hpp).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include <damo/log.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/schedule_trial.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "runtime/kernel/taken.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo {
namespace {

constexpr int kRounds = 5, kRepeats = 2;  // of each schedule, in turn with the others
constexpr std::uint8_t kNoResult = 0x5a;  // stands in results before each schedule's first run: what a kernel leaves out is seen
constexpr std::size_t kPieces = 64, kPieceBytes = 64 * 1024;  // of results that are compared: all of them where they are no more than that

/// What of a class of shapes has one schedule: the length of rows, and how many of them by the power of 2.
std::string shapes_text(const Geometry& geometry, bool reduces) {
  std::string text;
  for (std::int64_t extent : geometry.extents) text += (text.empty() ? "2^" : " x 2^") + std::to_string(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1))) - 1);
  return reduces ? text + " of " + std::to_string(geometry.reduced.count) : text;
}

/// The bytes of some pieces of the outputs.
std::vector<std::byte> bits_of(Backend& backend, std::span<const std::pair<std::byte*, std::size_t>> outputs, void* stream) {
  std::vector<std::byte> bits;
  for (const auto& [from, bytes] : outputs) {
    const std::size_t pieces = bytes <= kPieces * kPieceBytes ? 1 : kPieces, piece = pieces == 1 ? bytes : kPieceBytes;
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t at = pieces == 1 ? 0 : (bytes - piece) / (pieces - 1) * i, end = bits.size();
      bits.resize(end + piece);
      backend.copy(bits.data() + end, from + at, piece, CopyKind::kDeviceToHost, stream);
    }
  }
  backend.synchronize(stream);
  return bits;
}

}  // namespace

SpecKernel::Choice SpecKernel::choose(const Geometry& geometry, bool in_place, std::span<const Scalar> numbers) {
  Layout layout = layout_of(geometry, in_place, numbers);
  if (in_place || spec_.has_users_code() || !spec_.overrides.empty() || spec_.loop) return {std::move(layout), nullptr};
  std::vector<ScheduleGuess> guesses = backend_.dialect().alternatives(spec_of(layout), layout, geometry, processors_of(backend_.limits()));
  std::erase_if(guesses, [&](const ScheduleGuess& guess) { return !follows_positions(spec_, guess.layout, geometry) && !(guess.layout == layout); });
  if (guesses.size() < 2) return {std::move(layout), nullptr};
  const std::string shapes = shapes_text(geometry, spec_.reduces());
  std::shared_ptr<ScheduleTrial> trial;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.layout == layout && known.shapes == shapes; });
    if (found != known_.end()) trial = found->trial;
  }
  if (!trial) {
    trial = ScheduleTrials::of(backend_)->trial(entry_name(spec_), [&] { return source(layout); }, shapes, std::move(guesses));
    if (!trial) return {std::move(layout), nullptr};
    const std::lock_guard lock(mutex_);
    known_.push_back({std::move(layout), shapes, trial});
  }
  return {trial->layout(), trial};
}

/// From the next launch on others may be measured, or another was measured to be faster.
void BoundKernel::await_choice(std::shared_ptr<ScheduleTrial> trial, Geometry geometry, std::size_t bytes, std::span<const ArrayLayout> arrays) {
  const bool is_settled = trial->state() == ScheduleTrial::State::kSettled;
  variant_->origin.store(trial->is_measured() && variant_->layout == trial->layout() ? ScheduleOrigin::kMeasured : ScheduleOrigin::kModel, std::memory_order_relaxed);
  if (is_settled && variant_->layout == trial->layout()) return;
  const KernelSpec& spec = kernel_->spec();
  std::vector<Undecided::Range> ranges;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const int parameter = parameters_[i];
    if (spec.is_value(parameter)) continue;
    const ByteRange range = range_of(arrays[i], itemsize(spec.parameter_dtype(parameter)));
    if (spec.is_output(parameter) && !is_dense(*arrays[i].shape, *arrays[i].strides)) return;  // what lies between its elements would be written
    ranges.push_back({parameter, range.first, range.bytes()});
  }
  undecided_ = std::make_shared<const Undecided>(Undecided{ScheduleTrials::of(kernel_->backend()), std::move(trial), std::move(geometry), bytes, std::move(ranges)});
}

/// Whether no array that is written shares memory with another one, at this launch's addresses.
bool BoundKernel::may_run_again() const {
  const auto begin = [&](const Undecided::Range& range) { return reinterpret_cast<std::uintptr_t>(block_.pointer(range.parameter)) + static_cast<std::uintptr_t>(range.first); };
  for (const Undecided::Range& written : undecided_->arrays) {
    if (!kernel_->spec().is_output(written.parameter)) continue;
    for (const Undecided::Range& other : undecided_->arrays) {
      if (other.parameter != written.parameter && begin(other) < begin(written) + written.bytes && begin(written) < begin(other) + other.bytes) return false;
    }
  }
  return true;
}

void BoundKernel::decide(void* stream) {
  const std::shared_ptr<const Undecided> undecided = undecided_;
  ScheduleTrial& trial = *undecided->trial;
  switch (trial.state()) {
    case ScheduleTrial::State::kCounting:
      undecided->trials->count(undecided->trial, [&] {
        std::vector<CompileRequest> requests;
        for (const Layout& layout : trial.layouts()) requests.push_back(kernel_->request(layout));
        return requests;
      });
      return;
    case ScheduleTrial::State::kReady:
      measure(stream);
      return;
    case ScheduleTrial::State::kSettled:
      end(trial);
      return;
    default: return;  // being compiled, or measured by another thread
  }
}

/// Goes on with what was chosen.
void BoundKernel::end(const ScheduleTrial& trial) {
  const std::shared_ptr<const Undecided> undecided = std::move(undecided_);
  const SpecKernel::Variant& chosen = kernel_->variant(trial.layout(), undecided->geometry.count);
  if (&chosen != variant_) {
    variant_->origin.store(ScheduleOrigin::kReplaced, std::memory_order_relaxed);
    take(chosen, *undecided);
  }
  chosen.origin.store(trial.is_measured() ? ScheduleOrigin::kMeasured : ScheduleOrigin::kModel, std::memory_order_relaxed);
}

/// Another way to share out the work of the same arrays.
void BoundKernel::take(const SpecKernel::Variant& variant, const Undecided& undecided) {
  const ArgumentBlock before = block_;
  prepare(variant, undecided.geometry, undecided.arrays_bytes);
  block_.take_values(before);
}

void BoundKernel::measure(void* stream) {
  Backend& backend = kernel_->backend();
  ScheduleTrials& trials = *undecided_->trials;
  ScheduleTrial& trial = *undecided_->trial;
  if (!stream) stream = backend.default_stream();
  const bool is_aligned = block_.set_fast() || !backend.dialect().unaligned(variant_->layout);
  if (current_log(backend) || !is_aligned || !may_run_again() || !trials.clock()->may_measure(stream) || !ScheduleTrials::begin(trial)) return;
  std::vector<std::vector<double>> times;
  try {
    times = times_of(trial, *trials.clock(), stream);
  } catch (...) {
    trials.settle(trial, {});
    throw;
  }
  trials.settle(trial, std::move(times));
  end(trial);
}

/// Of each schedule; none of one that the device refuses, or whose results differ in a bit.
std::vector<std::vector<double>> BoundKernel::times_of(const ScheduleTrial& trial, LaunchClock& clock, void* stream) const {
  Backend& backend = kernel_->backend();
  std::vector<std::pair<std::byte*, std::size_t>> results;
  for (const Undecided::Range& range : undecided_->arrays) {
    if (kernel_->spec().is_output(range.parameter)) results.emplace_back(static_cast<std::byte*>(const_cast<void*>(block_.pointer(range.parameter))) + range.first, range.bytes);
  }
  std::vector<std::unique_ptr<SpecKernel::Variant>> variants(trial.layouts().size());
  std::vector<std::optional<BoundKernel>> ways(variants.size());
  std::vector<std::byte> wanted;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!trial.modules()[i]) continue;
    try {
      BoundKernel& way = ways[i].emplace(*this);
      way.undecided_.reset();
      variants[i] = kernel_->make_variant(trial.layouts()[i], *trial.modules()[i]);
      way.take(*variants[i], *undecided_);
      for (const auto& [to, bytes] : results) backend.fill(to, &kNoResult, sizeof kNoResult, bytes, stream);
      way.run(stream, false);
    } catch (const Error& error) {
      log(LogLevel::kDebug, "schedule of " + trial.kernel() + ": " + schedule_text(trial.layouts()[i]) + " is refused: " + error.what());
      ways[i].reset();
      continue;
    }
    std::vector<std::byte> bits = bits_of(backend, results, stream);
    if (i == 0) wanted = std::move(bits);
    else if (bits != wanted) {
      log(LogLevel::kWarning, "schedule of " + trial.kernel() + ": " + schedule_text(trial.layouts()[i]) + " gives other bits than " + schedule_text(trial.layouts()[0]) + ", and is not taken");
      ways[i].reset();
    }
  }
  std::vector<std::vector<double>> times(ways.size());
  for (int round = 0; ways[0] && round < kRounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (ways[i]) times[i].push_back(clock.milliseconds(trial.layouts()[i], stream, kRepeats, [&] { ways[i]->run(stream, false); }));
    }
  }
  return times;
}

}  // namespace damo
