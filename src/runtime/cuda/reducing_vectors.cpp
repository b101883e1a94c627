#include "runtime/cuda/reducing_vectors.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/scan_schedule.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

constexpr int kColumnWords = 96;                // registers of a thread for the values of its columns

bool divides(const Strides& strides, int axes, int vector) {
  for (int axis = 0; axis < axes; ++axis) {
    if (strides[axis] % vector != 0) return false;
  }
  return true;
}

}  // namespace

AskedRows asked_rows() {
  const std::string text = environment("DAMO_CUDA_ROWS");
  AskedRows asked;
  if (text.empty()) return asked;
  const int count = std::sscanf(text.c_str(), "%d,%d,%d,%d", &asked.lanes, &asked.items, &asked.cluster, &asked.residents);
  const auto is_power = [](int value, int most) { return value == 0 || (value > 0 && value <= most && std::has_single_bit(static_cast<unsigned>(value))); };
  if (count == 4 && is_power(asked.lanes, kMostLanes) && asked.items >= 0 && asked.items <= 64 && is_power(asked.cluster, 8) && asked.residents >= 0 && asked.residents <= 32) return asked;
  throw OptionError("DAMO_CUDA_ROWS=" + text + " is no schedule of a kernel that reduces",
                    "lanes,items,cluster,residents, each 0 for the default: powers of 2 up to 1024 and 8, at most 64 items and 32 residents");
}

int bytes_read(const KernelSpec& spec, const Layout& layout) {
  int bytes = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    const Access access = access_of(layout, i);
    if (is_moved(access) && access != Access::kEveryRow && access != Access::kSteady) bytes += spec.element_bytes(i);
  }
  return std::max(bytes, 1);
}

int words_of_place(const KernelSpec& spec, const Layout& layout) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  int words = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    const Access access = access_of(layout, i);
    const bool is_late = passes.is_read_late(i) || (spec.joins_across() && access == Access::kEveryRow), is_steady = layout.form == Form::kColumns && access == Access::kSteady;
    if (is_moved(access) && !is_late && !is_steady) words += words_of(spec.parameter_dtype(i));
  }
  std::size_t kept = 0;
  for (const Passes::Pass& pass : passes.all()) kept = std::max(kept, pass.kept.size());
  words = std::max({words, static_cast<int>(kept), 1});
  // What a prefix join leaves is there beside what is kept, and beside arrays that are wanted again.
  for (std::size_t pass = 1; pass < passes.all().size(); ++pass) {
    const int prefixes = words_of_prefixes(spec, passes, pass);
    if (prefixes == 0) continue;
    std::set<int> again;
    for (std::size_t later = pass; later < passes.all().size(); ++later) again.insert(passes.all()[later].inputs.begin(), passes.all()[later].inputs.end());
    int beside = static_cast<int>(passes.all()[pass].kept.size());
    for (int input : again) beside += is_moved(access_of(layout, input)) && !passes.is_read_late(input) ? words_of(spec.parameter_dtype(input)) : 0;
    words = std::max(words, prefixes + beside);
  }
  return words;
}

int words_of_steady(const KernelSpec& spec, const Layout& layout, bool with_late) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  int words = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (access_of(layout, i) == Access::kSteady && (with_late || !passes.is_read_late(i))) words += words_of(spec.parameter_dtype(i));
  }
  return words;
}

int words_of_prefixes(const KernelSpec& spec, const Passes& passes, std::size_t pass) {
  std::set<int> accumulators;
  for (std::size_t later = pass; later < passes.all().size(); ++later) {
    for (int prefix : passes.all()[later].prefixes) {
      if (passes.known(prefix) <= static_cast<int>(pass)) accumulators.insert(spec.accumulator_of(prefix));
    }
  }
  int words = 0;
  for (int join : accumulators) words += (spec.step_of(join).join->bytes + 3) / 4;
  return words;
}

bool asks_early(const KernelSpec& spec, const Layout& layout) {
  if (layout.form != Form::kRows || !layout.whole || layout.residents == 0) return false;
  const int registers = kOwnRegisters + words_held(spec) + layout.items * (layout.vector * words_of_place(spec, layout) + words_of_steady(spec, layout, true));
  return registers <= kRegisters / (layout.residents * reducing_block(layout));
}

int most_joined_words(const KernelSpec& spec) {
  int most = 0;
  const Passes passes(spec, [](int, const Passes&) { return true; });
  for (const Passes::Pass& pass : passes.all()) {
    int words = 0;
    for (int join : pass.joins) words += (spec.step_of(join).join->bytes + 3) / 4;
    most = std::max(most, words);
  }
  return most;
}

bool writes_elements(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  return std::any_of(passes.all().begin(), passes.all().end(), [](const Passes::Pass& pass) { return !pass.stores.empty(); });
}

bool goes_again(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return false; });
  return passes.all().size() > 1;
}

bool has_whole_vectors(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int vector) {
  const bool rows = layout.form == Form::kRows;
  const Shape &inner = rows ? geometry.reduced.extents : geometry.extents, &outer = rows ? geometry.extents : geometry.reduced.extents;
  if (inner[-1] % vector != 0) return false;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const Access access = access_of(layout, i);
    if (access != Access::kRow && access != Access::kEveryRow) continue;
    const auto at = static_cast<std::size_t>(i);
    const Strides &along = rows ? geometry.reduced.strides[at] : geometry.strides[at], &across = rows ? geometry.strides[at] : geometry.reduced.strides[at];
    if (!divides(along, inner.rank() - 1, vector) || !divides(across, outer.rank(), vector)) return false;
  }
  return std::all_of(geometry.taken.begin(), geometry.taken.end(), [&](const TakenAxes& taken) { return taken.apart % vector == 0; });
}

/// Elements of one access: as many as the widest of them leaves room for, of columns also as their values leave registers.
static int vector_of(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  int widest = 1;
  bool some = false;  // array has neighbours to read together
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const Access access = access_of(layout, i);
    if (!is_moved(access)) continue;
    widest = std::max(widest, spec.element_bytes(i));
    some |= access == Access::kRow && !spec.is_ordinals(i);
  }
  int vector = some ? kVectorBytes / widest : 1;
  const auto is_whole = [&](int width) { return has_whole_vectors(spec, layout, geometry, width); };
  if (layout.form == Form::kRows) {
    // Rows that begin anywhere are read along one axis.
    // Across rows a thread's elements are at the same places of each.
    while (vector > 1 && (layout.reduced_rank > 1 || spec.joins_across()) && !is_whole(vector)) vector /= 2;
    // Of short rows of 16-bit floats whole vectors of half the size take fewer instructions than ends do.
    const bool is_short = widest == 2 && geometry.reduced.count <= 32 * kMostWordsHeld && !spec.scans_alone();
    if (is_short && vector == kVectorBytes / widest && !is_whole(vector) && is_whole(vector / 2)) vector /= 2;
    return vector;
  }
  const int words = words_held(spec) + static_cast<int>(partial_bytes(spec)) / 4;
  const int held = spec.scans() ? std::max(kReducingBlock, 32 * (kReducingBlock / 32 + kMostColumnLevels)) : kReducingBlock;  // values of a vector's columns in shared memory
  const auto fits = [&](int width) { return width * words <= kColumnWords && static_cast<std::size_t>(held * width) * partial_bytes(spec) <= kColumnSharedBytes; };
  while (vector > 1 && (!fits(vector) || !is_whole(vector))) vector /= 2;
  return vector;
}

void move_in_vectors(const KernelSpec& spec, Layout& layout, const Geometry& geometry) {
  mark_every_row(layout, geometry, spec.input_count());
  layout.vector = vector_of(spec, layout, geometry);
  layout.ends = has_whole_vectors(spec, layout, geometry, layout.vector) ? Ends::kVectors : Ends::kAnywhere;
}

}  // namespace damo
