#include "runtime/kernel/short_integers.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "runtime/kernel/value_ranges.hpp"

namespace damo {
namespace {

using Known = std::optional<ValueRange>;

constexpr int kAnyDigits = 63;

bool counts_rows(const KernelSpec& spec) {
  return std::any_of(spec.steps.begin(), spec.steps.end(), [](const Step& step) { return step.is_place || step.is_count; });
}

/// Calls act(value, entry): of the entries of Layout::digits. The places' value is -1.
template <class Act>
void each_entry(const KernelSpec& spec, Act act) {
  std::size_t entry = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (spec.is_ordinals(i)) act(i, entry++);
  }
  if (counts_rows(spec)) act(-1, entry++);
  for (std::size_t i = 0; i < spec.numbers.size(); ++i) {
    if (spec.numbers[i].dtype() == int64) act(spec.input_count() + static_cast<int>(i), entry++);
  }
}

/// Numbers from 0 on that are so many digits long; of places also their number.
ValueRange counted(int digits) { return {0, digits >= kAnyDigits ? INT64_MAX : (std::int64_t{1} << digits) - 1}; }
ValueRange of_either_sign(int digits) { return {-counted(digits).most - 1, counted(digits).most}; }
int digits_in(std::int64_t value) { return std::bit_width(static_cast<std::uint64_t>(value < 0 ? ~value : value)); }

/// Which values go short.
struct Shortened {
  std::vector<bool> made;      ///< by value: it is int32 instead of int64
  std::vector<bool> computed;  ///< by value: the step that makes it computes in int32
  friend bool operator==(const Shortened&, const Shortened&) = default;
};

class Shortener {
 public:
  Shortener(const KernelSpec& spec, std::span<const int> digits) : spec_(spec), values_(static_cast<std::size_t>(spec.first_step()) + spec.steps.size()) {
    std::vector<Known> given;
    for (DType dtype : spec.inputs) given.push_back(range_of(dtype));
    for (const Scalar& number : spec.numbers) given.push_back(range_of(number.dtype()));
    for (const Scalar& constant : spec.constants) {
      const bool is_known = !is_floating(constant.dtype()) && constant.dtype() != uint64;
      given.push_back(is_known ? Known(ValueRange{constant.as_int(), constant.as_int()}) : range_of(constant.dtype()));
    }
    ValueRange places = counted(kAnyDigits);
    each_entry(spec, [&](int value, std::size_t entry) {
      const int all = digits.empty() ? kAnyDigits : digits[entry];
      if (value < 0) places = counted(all);
      else given[static_cast<std::size_t>(value)] = value < spec.input_count() ? counted(all) : of_either_sign(all);
    });
    ranges_ = value_ranges(spec, std::move(given), places);
    shortened_ = {std::vector<bool>(values_, false), std::vector<bool>(values_, false)};
    for (std::size_t value = first(); value < values_; ++value) shortened_.computed[value] = computes_short(step(value));
    for (std::size_t value = 0; value < values_; ++value) shortened_.made[value] = is_made_short(value);
  }

  const Shortened& shortened() const { return shortened_; }

  KernelSpec spec() const {
    KernelSpec spec = spec_;
    for (std::size_t value = 0; value < values_; ++value) {
      if (value < spec.inputs.size() && shortened_.made[value]) spec.inputs[value] = int32;
      if (value < first()) continue;
      Step& step = spec.steps[value - first()];
      if (shortened_.made[value]) step.result = int32;
      if (!shortened_.computed[value] && !(shortened_.made[value] && step.is_place)) continue;
      step.compute = int32;
      std::replace(step.inputs_as.begin(), step.inputs_as.end(), int64, int32);
    }
    return spec;
  }

 private:
  std::size_t first() const { return static_cast<std::size_t>(spec_.first_step()); }
  const Step& step(std::size_t value) const { return spec_.steps[value - first()]; }

  bool computes_short(const Step& step) const {
    if (step.compute != int64 || step.is_place || step.is_count) return false;
    const std::vector<Known> inputs = input_ranges(step, ranges_);
    if (!std::all_of(inputs.begin(), inputs.end(), [](const Known& input) { return input && input->fits(kShortRange); })) return false;
    const Known given = range_of_code(step, inputs, 32);
    return given && given->fits(kShortRange);
  }

  bool is_made_short(std::size_t value) const {
    const bool is_step = value >= first();
    if (is_step && shortened_.computed[value]) return step(value).result == int64;
    const bool is_counted = is_step ? step(value).is_place : value < spec_.inputs.size() && spec_.is_ordinals(static_cast<int>(value));
    if (!is_counted || !ranges_[value]->fits(kShortRange)) return false;
    bool is_read = false;
    for (std::size_t reader = first(); reader < values_; ++reader) {
      if (std::find(step(reader).inputs.begin(), step(reader).inputs.end(), static_cast<int>(value)) == step(reader).inputs.end()) continue;
      if (!shortened_.computed[reader]) return false;  // it is counted in 64 bits for that reader, of which the others take half
      is_read = true;
    }
    return is_read && std::find(spec_.stores.begin(), spec_.stores.end(), static_cast<int>(value)) == spec_.stores.end();
  }

  const KernelSpec& spec_;
  std::size_t values_;
  std::vector<Known> ranges_;
  Shortened shortened_;
};

std::int64_t last_ordinal(const Geometry& geometry, std::size_t input) {
  std::int64_t last = 0;
  for (const CollapsedAxes* axes : {static_cast<const CollapsedAxes*>(&geometry), &geometry.reduced}) {
    for (int axis = 0; axis < axes->extents.rank(); ++axis) last += axes->strides[input][axis] * std::max<std::int64_t>(axes->extents[axis] - 1, 0);
  }
  return last;
}

}  // namespace

bool may_go_short(const KernelSpec& spec) {
  return !spec.users_text && !spec.loop && std::any_of(spec.steps.begin(), spec.steps.end(), [](const Step& step) { return step.compute == int64 && !step.join && !step.row && !step.is_place && !step.is_count; });
}

std::vector<int> digits_of(const KernelSpec& spec, const Geometry& geometry, std::span<const Scalar> numbers) {
  std::vector<int> digits;
  if (!may_go_short(spec)) return digits;
  each_entry(spec, [&](int value, std::size_t) {
    if (value < 0) digits.push_back(digits_in(geometry.reduced.count));
    else if (value < spec.input_count()) digits.push_back(digits_in(last_ordinal(geometry, static_cast<std::size_t>(value))));
    else digits.push_back(digits_in((numbers.empty() ? std::span<const Scalar>(spec.numbers) : numbers)[static_cast<std::size_t>(value - spec.input_count())].as_int()));
  });
  return digits;
}

/// The more digits, the less goes short.
std::vector<int> most_digits(const KernelSpec& spec, std::vector<int> digits) {
  if (digits.empty()) return digits;
  const Shortened shortened = Shortener(spec, digits).shortened();
  for (int& entry : digits) {
    int most = kAnyDigits;
    for (int least = entry; least < most;) {
      entry = least + (most - least + 1) / 2;
      if (Shortener(spec, digits).shortened() == shortened) least = entry;
      else most = entry - 1;
    }
    entry = most;
  }
  if (std::all_of(digits.begin(), digits.end(), [](int entry) { return entry == kAnyDigits; })) digits.clear();
  return digits;
}

KernelSpec with_short_integers(const KernelSpec& spec, std::span<const int> digits) { return may_go_short(spec) ? Shortener(spec, digits).spec() : spec; }

bool digits_serve(std::span<const int> code, std::span<const int> data) {
  if (code.empty()) return true;
  return std::equal(code.begin(), code.end(), data.begin(), data.end(), [](int a, int b) { return a >= b; });
}

}  // namespace damo
