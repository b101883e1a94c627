#include "runtime/cpu/segments.hpp"

#include <algorithm>
#include <unordered_map>

namespace damo {
namespace {

constexpr int kShortKernel = 60;         // instructions an element that one loop may have
constexpr int kSegmentCost = 20;         // of a segment, unless one step has more
constexpr int kStripBytes = 16 * 1024;   // of all strips: half of a first-level cache
constexpr int kLeastStrip = 64, kMostStrip = 1024;

DType kept_as(DType result) { return is_narrow(result) ? float32 : result; }

/// For each step the last that reads it; its own if none does.
std::vector<int> last_readers(const KernelSpec& spec) {
  const std::vector<Step>& steps = spec.steps;
  std::vector<int> last(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    last[i] = static_cast<int>(i);
    for (int value : steps[i].inputs) {
      if (value >= spec.first_step()) last[static_cast<std::size_t>(value - spec.first_step())] = static_cast<int>(i);
    }
  }
  return last;
}

/// Where segments end: as late as their cost allows, and in the second half of that where the fewest bytes cross.
std::vector<int> ends_of(const KernelSpec& spec, const std::vector<int>& last) {
  const std::vector<Step>& steps = spec.steps;
  const std::size_t count = steps.size();
  if (spec.cost() <= kShortKernel) return {static_cast<int>(count)};
  std::vector<int> kept(count + 1, 0);  // bytes of an element, if a segment ended behind the step
  for (std::size_t i = 0; i < count; ++i) {
    const int bytes = static_cast<int>(itemsize(kept_as(steps[i].result)));
    kept[i] += bytes;
    kept[static_cast<std::size_t>(last[i])] -= bytes;
  }
  for (std::size_t i = 1; i < count; ++i) kept[i] += kept[i - 1];
  std::vector<int> ends;
  for (std::size_t begin = 0; begin < count;) {
    std::size_t best = begin;
    int cost = 0;
    for (std::size_t at = begin; at < count; ++at) {
      cost += steps[at].cost;
      if (cost > kSegmentCost && at > begin) break;
      if (2 * cost <= kSegmentCost || kept[at] <= kept[best] || at + 1 == count) best = at;
    }
    begin = best + 1;
    ends.push_back(static_cast<int>(begin));
  }
  return ends;
}

/// Copies steps into a segment and numbers what they read as the segment does.
class SegmentBuilder {
 public:
  SegmentBuilder(const KernelSpec& whole, int first, int last) : whole_(whole), first_(first), last_(last) {
    result.spec.name = whole.name;
    for (int i = first; i < last; ++i) {
      for (int value : step(i).inputs) find(value);
    }
  }
  /// Before build(): a value that later segments read, or that an output of the kernel receives.
  void keep(int value, int strip) { keeps_.push_back({value, strip}); }
  void store(int output) { stores_.push_back(output); }
  void build(const std::vector<int>& strip_of, const std::vector<DType>& strips) {
    for (int output : stores_) find(whole_.stores[static_cast<std::size_t>(output)]);
    KernelSpec& spec = result.spec;
    for (int array : result.arrays) {
      spec.inputs.push_back(whole_.inputs[static_cast<std::size_t>(array)]);
      spec.tables.push_back(whole_.is_table(array));
      spec.ordinals.push_back(whole_.is_ordinals(array) ? whole_.ordinals[static_cast<std::size_t>(array)] : std::nullopt);
    }
    for (int value : values_) {
      result.reads.push_back(strip_of[static_cast<std::size_t>(value)]);
      spec.inputs.push_back(strips[static_cast<std::size_t>(result.reads.back())]);
    }
    for (int number : result.numbers) spec.numbers.push_back(whole_.numbers[static_cast<std::size_t>(number)]);
    for (int constant : constants_) spec.constants.push_back(whole_.constants[static_cast<std::size_t>(constant)]);
    for (int i = first_; i < last_; ++i) {
      spec.steps.push_back(step(i));
      for (int& value : spec.steps.back().inputs) value = number_of(value);
    }
    for (const auto& [value, strip] : keeps_) {
      result.keeps.push_back(strip);
      spec.stores.push_back(number_of(value));
      spec.outputs.push_back(strips[static_cast<std::size_t>(strip)]);
      spec.guarded.push_back(false);
    }
    for (int output : stores_) {
      result.stores.push_back(whole_.input_count() + output);
      spec.stores.push_back(number_of(whole_.stores[static_cast<std::size_t>(output)]));
      spec.outputs.push_back(whole_.outputs[static_cast<std::size_t>(output)]);
      spec.guarded.push_back(whole_.is_guarded(output));
    }
  }
  const std::vector<int>& values() const { return values_; }
  CpuSegment result;

 private:
  const Step& step(int i) const { return whole_.steps[static_cast<std::size_t>(i)]; }
  int first_value() const { return whole_.first_step() + first_; }
  void find(int value) {
    if (value >= first_value()) return;
    const int inputs = whole_.input_count(), numbers = inputs + static_cast<int>(whole_.numbers.size());
    std::vector<int>& list = value < inputs ? result.arrays : value < numbers ? result.numbers : value < whole_.first_step() ? constants_ : values_;
    const int own = value < inputs ? value : value < numbers ? value - inputs : value < whole_.first_step() ? value - numbers : value;
    if (place_.try_emplace(value, static_cast<int>(list.size())).second) list.push_back(own);
  }
  int number_of(int value) const {
    const int inputs = whole_.input_count(), numbers = inputs + static_cast<int>(whole_.numbers.size());
    const KernelSpec& spec = result.spec;
    if (value >= first_value()) return spec.first_step() + value - first_value();
    const int place = place_.at(value);
    if (value < inputs) return place;
    if (value < numbers) return spec.input_count() + place;
    if (value < whole_.first_step()) return spec.input_count() + static_cast<int>(spec.numbers.size()) + place;
    return static_cast<int>(result.arrays.size()) + place;
  }

  const KernelSpec& whole_;
  int first_, last_;
  std::vector<int> constants_, values_, stores_;
  std::vector<std::pair<int, int>> keeps_;
  std::unordered_map<int, int> place_;  // of a value of the whole kernel in its list
};

}  // namespace

CpuSegments::CpuSegments(const KernelSpec& spec) {
  const std::vector<int> last = last_readers(spec), ends = ends_of(spec, last);
  const int first_step = spec.first_step();
  std::vector<int> strip_of(static_cast<std::size_t>(first_step) + last.size(), -1);
  std::vector<int> unused;
  int begin = 0;
  for (int end : ends) {
    SegmentBuilder builder(spec, begin, end);
    for (int i = begin; i < end; ++i) {
      if (last[static_cast<std::size_t>(i)] < end) continue;
      const DType dtype = kept_as(spec.steps[static_cast<std::size_t>(i)].result);
      auto found = std::find_if(unused.begin(), unused.end(), [&](int strip) { return strips[static_cast<std::size_t>(strip)] == dtype; });
      int& own = strip_of[static_cast<std::size_t>(first_step + i)];
      own = found != unused.end() ? *found : static_cast<int>(strips.size());
      if (found != unused.end()) unused.erase(found);
      else strips.push_back(dtype);
      builder.keep(first_step + i, own);
    }
    for (std::size_t output = 0; output < spec.stores.size(); ++output) {
      const int step = std::max(spec.stores[output] - first_step, 0);
      if (step >= begin && step < end) builder.store(static_cast<int>(output));
    }
    builder.build(strip_of, strips);
    for (int value : builder.values()) {  // the next segment may write where this one has read for the last time
      if (last[static_cast<std::size_t>(value - first_step)] < end) unused.push_back(strip_of[static_cast<std::size_t>(value)]);
    }
    segments.push_back(std::move(builder.result));
    begin = end;
  }
  int bytes = 1;
  for (DType dtype : strips) bytes += static_cast<int>(itemsize(dtype));
  strip = std::clamp(kStripBytes / bytes / kLeastStrip * kLeastStrip, kLeastStrip, kMostStrip);
}

}  // namespace damo
