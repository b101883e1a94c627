#include "runtime/stream/work_order.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "runtime/stream/work_log.hpp"

namespace damo {
namespace {

using Touch = WorkLog::Touch;
using Steps = std::vector<std::uint32_t>;

/// Who touched which bytes last.
class TouchedBytes {
 public:
  /// Appends the steps that a step with this touch waits for.
  void add(const Touch& touch, std::uint32_t step, Steps& waits) {
    if (touch.bytes == 0) return;
    const std::uintptr_t end = touch.begin + touch.bytes;
    split(touch.begin);
    split(end);
    for (std::uintptr_t at = touch.begin; at < end;) {
      auto range = ranges_.lower_bound(at);
      if (range == ranges_.end() || range->first != at) {  // bytes that nobody has touched, up to where somebody did
        const std::uintptr_t until = range == ranges_.end() ? end : std::min(end, range->first);
        range = ranges_.emplace_hint(range, at, Range{until, kNobody, {}});
      }
      note(range->second, touch.writes, step, waits);
      at = range->second.end;
    }
  }
  void clear() { ranges_.clear(); }

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  struct Range {
    std::uintptr_t end;
    std::uint32_t writer;
    Steps readers;  // since
  };

  static void note(Range& range, bool writes, std::uint32_t step, Steps& waits) {
    const auto wait_for = [&](std::uint32_t other) {
      if (other != kNobody && other != step) waits.push_back(other);
    };
    wait_for(range.writer);
    if (!writes) {
      if (range.readers.empty() || range.readers.back() != step) range.readers.push_back(step);
      return;
    }
    for (std::uint32_t reader : range.readers) wait_for(reader);
    range.readers.clear();
    range.writer = step;
  }

  /// Makes a range begin at an address within one.
  void split(std::uintptr_t at) {
    auto range = ranges_.upper_bound(at);
    if (range == ranges_.begin()) return;
    range = std::prev(range);
    if (range->first >= at || range->second.end <= at) return;
    Range second = range->second;
    range->second.end = at;
    ranges_.emplace(at, std::move(second));
  }

  std::map<std::uintptr_t, Range> ranges_;  // by where they begin; none of them overlap
};

/// The steps before each step, or the items before each item, as bits.
class Ancestors {
 public:
  explicit Ancestors(std::size_t steps) : words_((steps + 63) / 64), bits_(steps * words_, 0) {}
  bool has(std::uint32_t step, std::uint32_t other) const { return (row(step)[other / 64] >> (other % 64) & 1) != 0; }
  void add(std::uint32_t step, std::uint32_t other) {
    for (std::size_t i = 0; i < words_; ++i) row(step)[i] |= row(other)[i];
    row(step)[other / 64] |= std::uint64_t{1} << (other % 64);
  }

 private:
  std::uint64_t* row(std::uint32_t step) { return bits_.data() + step * words_; }
  const std::uint64_t* row(std::uint32_t step) const { return bits_.data() + step * words_; }
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Latest first; one that a later one waits for anyway is left out.
void reduce(Steps& waits, std::uint32_t step, Ancestors& ancestors) {
  std::sort(waits.begin(), waits.end(), std::greater<>());
  Steps kept;
  for (std::uint32_t other : waits) {
    if (ancestors.has(step, other)) continue;
    ancestors.add(step, other);
    kept.push_back(other);
  }
  waits = std::move(kept);
}

bool overlap(const Touch& a, const Touch& b) { return a.bytes != 0 && b.bytes != 0 && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes; }

}  // namespace

WorkOrder::WorkOrder(const WorkLog& log) : waits(log.items().size()) {
  for (std::size_t i = 1; i < waits.size(); ++i) waits[i] = {static_cast<std::uint32_t>(i - 1)};
  const std::span<const WorkLog::Step> steps = log.steps();
  if (waits.size() > kMostItems || steps.empty()) return;
  std::vector<Touch> touches(log.touches().begin(), log.touches().end());
  std::stable_sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) { return a.step < b.step; });
  auto touch = touches.begin();
  Ancestors ancestors(steps.size());
  TouchedBytes touched;
  std::uint32_t barrier = 0;  // the last step that does not say what it touches; all before it wait for nobody else
  std::vector<char> is_awaited(steps.size(), 0);
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    Steps before;
    if (steps[step].is_known) {
      while (touch != touches.end() && touch->step < step) ++touch;
      for (; touch != touches.end() && touch->step == step; ++touch) touched.add(*touch, step, before);
      if (before.empty() && !steps[barrier].is_known) before = {barrier};
    } else {
      for (std::uint32_t other = barrier; other < step; ++other) {
        if (!is_awaited[other]) before.push_back(other);
      }
      barrier = step;
      touched.clear();
    }
    reduce(before, step, ancestors);
    for (std::uint32_t other : before) is_awaited[other] = 1;
    const auto end_of = [&](std::uint32_t of) { return of + 1 < steps.size() ? steps[of + 1].first_item : static_cast<std::uint32_t>(waits.size()); };
    const auto is_apart = [&](std::uint32_t of) { return steps[of].is_apart && end_of(of) - steps[of].first_item <= kMostApart; };
    std::vector<std::uint32_t> items;
    for (std::uint32_t other : before) {
      for (std::uint32_t item = is_apart(other) ? steps[other].first_item : end_of(other) - 1; item < end_of(other); ++item) items.push_back(item);
    }
    for (std::uint32_t item = steps[step].first_item; item < (is_apart(step) ? end_of(step) : steps[step].first_item + 1); ++item) waits[item] = items;
  }
}

std::vector<std::size_t> WorkOrder::levels() const {
  std::vector<std::size_t> levels(waits.size(), 1);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    for (std::uint32_t other : waits[i]) levels[i] = std::max(levels[i], levels[other] + 1);
  }
  return levels;
}

std::size_t WorkOrder::depth() const {
  const std::vector<std::size_t> all = levels();
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

void WorkOrder::narrow(std::size_t chains) {
  if (waits.size() > kMostItems) return;  // in a row
  Ancestors ancestors(waits.size());
  std::vector<std::uint32_t> lasts;  // of each chain
  for (std::uint32_t item = 0; item < waits.size(); ++item) {
    for (std::uint32_t other : waits[item]) ancestors.add(item, other);
    std::uint32_t* before = nullptr;  // the latest last item that this one comes after
    for (std::uint32_t& last : lasts) {
      if (ancestors.has(item, last) && (!before || last > *before)) before = &last;
    }
    if (before) {
      *before = item;
    } else if (lasts.size() < chains) {
      lasts.push_back(item);
    } else {
      std::uint32_t& oldest = *std::min_element(lasts.begin(), lasts.end());
      waits[item].push_back(oldest);
      ancestors.add(item, oldest);
      oldest = item;
    }
  }
}

bool keeps_order(const WorkLog& log, const WorkLog& other) {
  if (other.steps().empty()) return true;
  if (log.steps().size() != other.steps().size() || log.touches().size() != other.touches().size()) return false;
  for (std::size_t i = 0; i < log.steps().size(); ++i) {
    const WorkLog::Step &a = log.steps()[i], &b = other.steps()[i];
    if (a.first_item != b.first_item || a.is_known != b.is_known || a.is_apart != b.is_apart) return false;
  }
  const std::span<const Touch> now = log.touches(), then = other.touches();
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].writes != then[i].writes || now[i].step != then[i].step) return false;
    if (now[i].begin == then[i].begin && now[i].bytes == then[i].bytes) continue;
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (overlap(now[i], now[k]) != overlap(then[i], then[k])) return false;
    }
  }
  return true;
}

}  // namespace damo
