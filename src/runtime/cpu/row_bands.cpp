// The part of CpuReducingEmitter for rows that share arrays which only the last pass reads element by element, as the weights of a norm. Row by row these would come
// from the second-level cache for each row, and be most of what does. So some rows, a band, go through all passes but the last one after another, and through the last
// together: for each window of columns all rows of the band, so that what they share is in the first-level cache for all but the first of them. No value is made of
// others than before, nor in another order. Rows that are joined across go likewise in windows, for what they are joined into.
#include <algorithm>

#include "runtime/cpu/reducing_emitter.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {
namespace {

constexpr int kBandRows = 8;            // at most: what the rows share is an eighth of the traffic then
constexpr int kBandBytes = 256 << 10;   // of a band's rows: a second-level cache holds them beside those of the next band
constexpr int kFirstLevel = 32 << 10;   // a row and what it shares with others stay in the first-level cache up to here, and bands gain nothing
constexpr int kWindow = 1024;           // columns: what the rows share of them stays there while a band goes by

}  // namespace

/// Whether rows go in bands: the last pass stores past the caches, is the one that asks ahead, and needs no value that was held. Rows that are short enough for
/// blocks share too little.
bool CpuReducingEmitter::has_bands() const {
  if (in_blocks()) return false;
  const auto& passes = passes_.all();
  const Passes::Pass& last = passes.back();
  if (passes.size() < 2 || asks_ahead() != &last || !last.kept.empty()) return false;
  return std::any_of(last.inputs.begin(), last.inputs.end(), [this](int input) { return access(input) == Access::kEveryRow; });
}

/// Values of a row that the last pass may need.
std::vector<int> CpuReducingEmitter::row_values() const {
  std::vector<int> values = passes_.first_row_steps();
  for (const Passes::Pass& pass : passes_.all()) {
    values.insert(values.end(), pass.given.begin(), pass.given.end());
    values.insert(values.end(), pass.row_steps.begin(), pass.row_steps.end());
  }
  return values;
}

/// band: rows; width: columns of a window, all where there is one row.
void CpuReducingEmitter::emit_band_size() {
  int of_row = 0, shared = 0;
  for (int input = 0; input < spec_.input_count(); ++input) {
    if (!passes_.is_element(input) || spec_.is_ordinals(input)) continue;
    if (access(input) == Access::kRow) of_row += static_cast<int>(itemsize(spec_.parameter_dtype(input)));
    if (access(input) == Access::kEveryRow) shared += static_cast<int>(itemsize(spec_.parameter_dtype(input)));
  }
  line("  const i64 fitting = " + number(kBandBytes) + " / (a.length * " + number(std::max(of_row, 1)) + " + 1);");
  line("  const i64 band = a.length * " + number(of_row + shared) + " <= " + number(kFirstLevel) + " || fitting < 2 ? 1 : fitting < " + number(kBandRows) + " ? fitting : " + number(kBandRows) + ";");
  line("  const i64 width = band > 1 ? " + number(kWindow) + " : a.length > 0 ? a.length : 1;");
}

void CpuReducingEmitter::emit_bands() {
  const auto& passes = passes_.all();
  const auto type = [this](int value) { return value_type(steps_.dtype(value)); };
  begin(entry_name(spec_), false);
  line("  const i64 from = first * a.tile, to = last * a.tile < a.n ? last * a.tile : a.n, begin = 0, end = a.length;");
  emit_band_size();
  line("  for (i64 base = from; base < to; base += band) {\n    const i64 rows = to - base < band ? to - base : band;");
  for (int value : row_values()) line("    " + type(value) + " b" + number(value) + "[" + number(kBandRows) + "];");
  line("    for (i64 at = 0; at < rows; ++at) {\n      const i64 row = base + at;");
  emit_row_start("      ", "row", layout_.rank, "");
  emit_row_values("      ", {}, passes_.first_row_steps());
  for (const Passes::Pass& pass : passes) {
    if (&pass == &passes.back()) break;
    emit_row_pass(pass);
    emit_row_values("      ", pass.given, pass.row_steps);
  }
  for (int value : row_values()) line("      b" + number(value) + "[at] = v" + number(value) + ";");
  emit_row_results("      ", passes.back().given, passes.back().row_steps);
  line("    }");
  // The last columns first: the first-level cache has them still.
  line("    for (i64 window = (end - 1) / width * width; window >= 0; window -= width) {\n    for (i64 at = rows - 1; at >= 0; --at) {\n      const i64 row = base + at;");
  emit_row_start("      ", "row", layout_.rank, "");
  declare_ahead("      ");
  for (int value : row_values()) line("      const " + type(value) + " v" + number(value) + " = b" + number(value) + "[at];");
  emit_row_pass(passes.back());
  line("    }\n    }\n  }");
  line("  if (a.fast & 2) stream_fence();");
  end();
}

/// Whether rows that are gone through once are joined across, in runs: what they are joined into would come from the second-level cache for each of them.
bool CpuReducingEmitter::has_windows() const { return spec_.joins_across() && passes_.all().size() == 1 && layout_.reduced_rank == 1 && !passes_.all()[0].joins.empty() && !has_one_run(); }

/// For each run of columns all rows of a band, one after another. Each is joined run by run, and each place row by row, as without bands.
void CpuReducingEmitter::emit_windows() {
  const Passes::Pass& pass = passes_.all()[0];
  const std::string rows = number(kBandRows), run = number(kCpuRun * layout_.lanes);
  line("    for (i64 base = from; base < to; base += " + rows + ") {\n      const i64 rows = to - base < " + rows + " ? to - base : " + rows + ";");
  for (int join : pass.joins) line("      Joined" + number(join) + " b" + number(join) + "[" + rows + "];\n      for (i64 at = 0; at < rows; ++at) b" + number(join) + "[at] = neutral" + number(join) + "();");
  const auto begin_row = [&] {
    line("      for (i64 at = 0; at < rows; ++at) {\n      const i64 row = base + at;");
    emit_row_start("      ", "row", layout_.rank, "");
    emit_row_values("      ", {}, passes_.first_row_steps());
  };
  line("      for (i64 window = 0; window < a.length; window += " + run + ") {\n      const i64 begin = window, end = window + " + run + " < a.length ? window + " + run + " : a.length;");
  begin_row();
  emit_row_pass(pass, "b");
  for (int join : pass.joins) line("      b" + number(join) + "[at] = j" + number(join) + ";");
  line("      }\n      }");
  if (!passes_.row_stores().empty()) {
    begin_row();
    for (int join : pass.joins) line("      const Joined" + number(join) + " j" + number(join) + " = b" + number(join) + "[at];");
    emit_row_results("      ", pass.given, pass.row_steps);
    line("      }");
  }
  line("    }");
}

}  // namespace damo
