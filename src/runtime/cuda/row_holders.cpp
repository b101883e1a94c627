#include "runtime/cuda/row_holders.hpp"

#include <algorithm>
#include <span>

#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {

int words_of_members(const KernelSpec& spec, const Layout& layout) {
  int words = 0;
  each_accumulator(spec, [&](const Join& join) { words += join.members.empty() || join.across ? 0 : (join.bytes + 3) / 4 - 1; });
  return words * layout.vector;
}

int words_wanted_again(const KernelSpec& spec, const Layout& layout) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  int most = words_of_place(spec, layout);
  for (std::size_t i = 1; i < passes.all().size(); ++i) {
    int words = static_cast<int>(passes.all()[i].kept.size()) + words_of_prefixes(spec, passes, i);
    for (int input = 0; input < spec.input_count(); ++input) {
      const bool again = std::any_of(passes.all().begin() + static_cast<std::ptrdiff_t>(i), passes.all().end(), [&](const Passes::Pass& pass) { return std::find(pass.inputs.begin(), pass.inputs.end(), input) != pass.inputs.end(); });
      const Access access = access_of(layout, input);
      const bool lies_in_shared = layout.ahead > 0 && access == Access::kEveryRow && passes.is_read_late(input);
      if (again && is_moved(access) && access != Access::kSteady && !lies_in_shared) words += words_of(spec.parameter_dtype(input));
    }
    most = std::max(most, words);
  }
  return most;
}

int bytes_wanted_again(const KernelSpec& spec, const Layout& layout) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  int most = 0;
  for (std::size_t i = 1; i < passes.all().size(); ++i) {
    int bytes = 4 * (static_cast<int>(passes.all()[i].kept.size()) + words_of_prefixes(spec, passes, i));
    for (int input = 0; input < spec.input_count(); ++input) {
      const bool again = std::any_of(passes.all().begin() + static_cast<std::ptrdiff_t>(i), passes.all().end(), [&](const Passes::Pass& pass) { return std::find(pass.inputs.begin(), pass.inputs.end(), input) != pass.inputs.end(); });
      if (again && !passes.is_read_late(input) && is_moved(access_of(layout, input))) bytes += spec.parameter_dtype(input) == bfloat16 ? 4 : spec.element_bytes(input);
    }
    most = std::max(most, bytes);
  }
  return most;
}

bool meets_often(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  return std::count_if(passes.all().begin(), passes.all().end(), [](const Passes::Pass& pass) { return !pass.joins.empty(); }) >= kManyMeetings;
}

namespace {

constexpr int kManyWords = 3;           // of an element, that are wanted again
constexpr int kRegistersAtOnce = 8;     // that a thread is given, or a multiple
constexpr int kRegistersOfAnArray = 8;  // of a thread that holds a long row, for each word of an element but one: vectors of other arrays that are on their way

/// Blocks that hold a row, and how many of them a multiprocessor has.
struct Holders {
  int lanes, residents;
};
constexpr Holders kHoldersOfLongRows[] = {{kLanesAlone, 2}, {kLanesOfACluster, 2}, {kLanesAlone, 1}};
constexpr Holders kHoldersOfShorts[] = {{kLanesOfACluster, 3}};
constexpr Holders kHoldersOfManyWords[] = {{64, 12}, {64, 8}, {128, 6}, {128, 4}, {256, 3}, {256, 2}};
constexpr Holders kHoldersOfManyWordsAcross[] = {{128, 4}, {256, 2}};
constexpr int kMostAlone = 2;  // blocks of a cluster, each alone on its multiprocessor: more of them, of which there are two a multiprocessor, wait for each other for less

/// The first of the holders whose threads have registers for the row, or for their half of it where a cluster shares it, each block alone on its multiprocessor. For kernels that write
/// elements of rows of which there is one for each multiprocessor. words: of an element; own: registers besides. Of words that are wanted again a third may be spilled. False if none hold it.
bool hold_in_registers(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors, std::span<const Holders> all, int words, int own) {
  if (!writes_elements(spec) || geometry.count < processors.count) return false;
  const int most_blocks = spec.joins_across() ? 1 : std::min(processors.cluster, kMostAlone), again = bytes_wanted_again(spec, layout) / 4;
  for (int cluster = 1; cluster <= most_blocks; cluster *= 2) {
    for (const Holders& holders : all) {
      const auto items = static_cast<int>(divide_up(vectors, std::int64_t{holders.lanes} * cluster));
      const int registers = kRegisters / (holders.lanes * holders.residents) / kRegistersAtOnce * kRegistersAtOnce;
      const bool fits = own + items * words * layout.vector <= registers && 2 * items * again * layout.vector <= 3 * (registers - own);
      if ((cluster > 1 && holders.residents > 1) || !fits) continue;
      layout.lanes = holders.lanes;
      layout.items = items;
      layout.residents = holders.residents;
      layout.cluster = cluster;
      return true;
    }
  }
  return false;
}

/// Of a thread, for addresses, what the steps of an element hold at once, and joins of several values.
int own_registers(const KernelSpec& spec, const Layout& layout) { return kLeastOwnRegisters + words_held(spec) + words_of_members(spec, layout); }

/// Elements as they were read, and for each word of one but the first a vector of another array on its way.
bool hold_as_read(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors, std::span<const Holders> all) {
  const int words = words_of_place(spec, layout);
  return hold_in_registers(spec, layout, geometry, vectors, processors, all, words, own_registers(spec, layout) + kRegistersOfAnArray * (words - 1));
}

}  // namespace

bool hold_many_words(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors, bool is_short) {
  const int again = bytes_wanted_again(spec, layout) / 4;
  const bool has_many = again >= kManyWords || (again + 1 == kManyWords && !is_short && meets_often(spec));
  const std::span<const Holders> all = spec.joins_across() ? std::span<const Holders>(kHoldersOfManyWordsAcross) : kHoldersOfManyWords;
  return has_many && hold_in_registers(spec, layout, geometry, vectors, processors, all, again, own_registers(spec, layout));
}

bool hold_short_row(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors) { return hold_as_read(spec, layout, geometry, vectors, processors, kHoldersOfShorts); }

bool hold_long_row(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t vectors, const Processors& processors) { return hold_as_read(spec, layout, geometry, vectors, processors, kHoldersOfLongRows); }

}  // namespace damo
