// The part of CpuReducingEmitter that writes passes which join nothing, and of columns also those that join: what they store goes past the caches where arrays are larger than these
// (ArgumentBlock::set_streams), whole cache lines at a time, and the row behind is asked for meanwhile.
#include <algorithm>

#include "runtime/cpu/emitter.hpp"
#include "runtime/cpu/reducing_emitter.hpp"
#include "runtime/kernel/slice_text.hpp"

namespace damo {
namespace {

constexpr int kWorthStrips = 512;    // elements of a row from which storing past the caches is worth it
constexpr int kWorthColumns = 256;   // columns of a task, likewise
constexpr int kRowAhead = 64 << 10;  // bytes of rows without dear values that are asked for ahead: for longer ones the processor's own fetching is as good
constexpr int kHeldRowAhead = 512 << 10;  // likewise of those with dear values: a second-level cache has them when their turn comes
constexpr const char* kVectoriseStores = "#pragma clang loop vectorize(assume_safety)";

}  // namespace

/// Whether what the pass stores may go past the caches: neighbours, which no pass reads again. A kernel that computes long does not wait for memory, nor do columns of
/// several passes, but where the last one reads values that are held.
bool CpuReducingEmitter::streams(const Passes::Pass& pass) const {
  if (layout_.turned || layout_.in_place || spec_.users_text || spec_.scans() || spec_.joins_across() || pass.stores.empty() || spec_.cost() >= kHeavyCost) return false;
  if (columns() ? passes_.all().size() > 1 && !layout_.whole : !pass.joins.empty()) return false;
  return std::all_of(pass.stores.begin(), pass.stores.end(), [&](int output) {
    const int parameter = parameter_of(output);
    return access(parameter) == Access::kRow && std::find(kept_in_.begin(), kept_in_.end(), parameter) == kept_in_.end();
  });
}

bool CpuReducingEmitter::has_strips() const {
  const auto& passes = passes_.all();
  return std::any_of(passes.begin(), passes.end(), [this](const Passes::Pass& pass) { return streams(pass); });
}

/// Elements of a row before the first whole cache line of each output: 0 to 63.
std::string CpuReducingEmitter::head_of(int output) const {
  const int parameter = parameter_of(output);
  return "i64((0 - u64(e" + number(parameter) + ")) % 64) / " + number(static_cast<int>(itemsize(spec_.parameter_dtype(parameter))));
}

/// Asks for the row behind this one, or for its like in the band behind, while a pass is busy with arithmetic, or else while it stores past the caches: memory would be idle in the one, and in the
/// other the fetching by the processor itself does not keep up. Of columns it begins anew with each row, which lies far behind the one before.
void CpuReducingEmitter::emit_ahead(const std::string& indent, const std::string& before, const Passes::Pass& pass) {
  if (columns()) {
    const std::string last = number(column_axes() - 1);
    for (int input : pass.inputs) {
      if (access(input) == Access::kRow && !spec_.is_ordinals(input) && !layout_.is_taken(input)) line(indent + "  prefetch_strip(e" + number(input) + " + a.r" + number(input) + "[" + last + "] + j);");
    }
    return;
  }
  if (&pass != asks_ahead()) return;
  for (int input : passes_.all()[0].inputs) {
    if (access(input) != Access::kRow || spec_.is_ordinals(input)) continue;
    const std::string row_ahead = layout_.is_taken(input) ? "n" + number(input) : "r" + number(input) + " + " + (has_bands() ? "band * " : "") + kept_step(input);
    line(indent + "  if (ahead) prefetch_strip(" + row_ahead + " + " + before + "j);");
  }
}

/// The pass that does, if any: the first that holds values, else the one that stores. It goes over strips.
const Passes::Pass* CpuReducingEmitter::asks_ahead() const {
  const auto& passes = passes_.all();
  if (columns() || layout_.reduced_rank > 1 || !streams(passes.back())) return nullptr;
  const auto holds = std::find_if(passes.begin(), passes.end(), [](const Passes::Pass& pass) { return !pass.keeps.empty(); });
  return layout_.whole && layout_.lanes == kCpuTile && holds != passes.end() ? &*holds : &passes.back();
}

/// Whether a row is short enough for that.
void CpuReducingEmitter::declare_ahead(const std::string& indent) {
  const Passes::Pass* pass = asks_ahead();
  if (!pass) return;
  std::size_t bytes = 0;
  for (int input : passes_.all()[0].inputs) {
    if (access(input) == Access::kRow && !spec_.is_ordinals(input)) bytes += itemsize(spec_.parameter_dtype(input));
  }
  line(indent + "const bool ahead = a.fast & 2 && a.length * " + number(static_cast<int>(bytes)) + " <= " + number(pass->keeps.empty() ? kRowAhead : kHeldRowAhead) + ";");
  for (int input : passes_.all()[0].inputs) {
    if (layout_.is_taken(input)) return emit_slices_ahead(indent);
  }
}

/// n0, n1, ...: of arrays that are taken, where the row that is asked for ahead begins: at its own position.
void CpuReducingEmitter::emit_slices_ahead(const std::string& indent) {
  line(indent + "i64 rest_ahead = ahead && row + " + (has_bands() ? "band" : "1") + " < a.n ? row + " + (has_bands() ? "band" : "1") + " : row;");
  for (int axis = layout_.rank - 1; axis >= 0; --axis) {
    const std::string n = number(axis);
    line(indent + "const i64 d" + n + " = " + (axis > 0 ? "rest_ahead % a.kept[" + n + "]; rest_ahead /= a.kept[" + n + "];" : "rest_ahead;"));
  }
  for (int input : passes_.all()[0].inputs) {
    if (!layout_.is_taken(input)) continue;
    const std::string n = number(input);
    std::string sum = "a.p" + n + " + " + slice_offset(input, layout_.rank, {}, "d");
    for (int axis = 0; axis < layout_.rank; ++axis) sum += " + d" + number(axis) + " * a.k" + n + "[" + number(axis) + "]";
    line(indent + pointer_type(input) + " n" + n + " = " + sum + ";");
  }
}

/// Whole cache lines of all outputs at a time.
void CpuReducingEmitter::emit_strips(const std::string& indent, const std::string& count, const std::string& before, const Passes::Pass& pass) {
  const std::string strip = number(kCpuTile);
  line(indent + "for (; j + " + strip + " <= " + count + "; j += " + strip + ") {");
  emit_ahead(indent, before, pass);
  for (int output : pass.stores) line(indent + "  alignas(64) " + storage_type(spec_.parameter_dtype(parameter_of(output))) + " strip" + number(output) + "[" + strip + "];");
  line(kVectoriseStores);
  if (columns()) {
    line(indent + "  for (i64 k = j; k < j + " + strip + "; ++k) {");
    emit_element(indent + "    ", "k", before, pass, {}, "k - j");
    emit_joins(indent + "    ", "m", true, pass);
  } else {
    line(indent + "  for (i64 k = 0; k < " + strip + "; ++k) {");
    emit_element(indent + "    ", "j + k", before + "j + k", pass, {}, "k");
  }
  line(indent + "  }");
  for (int output : pass.stores) line(indent + "  stream_strip(e" + number(parameter_of(output)) + " + j, strip" + number(output) + ");" + guard_.take_strip(output, "strip" + number(output)));
  line(indent + "}");
}

/// So many elements from e0, e1, ... on, of a pass that joins nothing, or of columns that streams, before then being their place; of rows in bands those of the window at hand, which the first whole line begins too.
void CpuReducingEmitter::emit_stores(const std::string& indent, const std::string& count, const std::string& before, const Passes::Pass& pass) {
  const bool strips = streams(pass), in_windows = strips && has_bands();
  const std::string stop = in_windows ? "stop" : count;
  if (!in_windows) line(indent + "i64 j = 0;");
  if (strips) {
    // Up to a place from which all outputs are whole lines, and behind the lines, element by element.
    std::string same = "a.fast & 2 && " + count + " >= " + number(columns() ? kWorthColumns : kWorthStrips);
    for (int output : pass.stores) same += output == pass.stores[0] ? "" : " && " + head_of(output) + " == head";
    line(indent + "const i64 head = " + head_of(pass.stores[0]) + ";");
    line(indent + "const bool in_strips = " + same + ";");
    if (in_windows) line(indent + "const i64 behind = head + window + width, stop = behind < " + count + " ? behind : " + count + ";\n" + indent + "i64 j = window > 0 ? head + window : 0;");
    line(indent + "for (i64 until = in_strips ? head : " + stop + ";; until = " + stop + ") {");
  }
  if (columns()) {
    line(indent + "for (i64 k = j; k < until; ++k) {");
    emit_element(indent + "  ", "k", before, pass);
    emit_joins(indent + "  ", "m", true, pass);
    line(indent + "}\n" + indent + "j = until;");
  } else {
    line(kVectoriseStores);
    line(indent + "for (; j < " + (strips ? "until" : stop) + "; ++j) {");
    emit_element(indent + "  ", "j", before + "j", pass);
    line(indent + "}");
  }
  if (!strips) return;
  line(indent + "if (until == " + stop + ") break;");
  emit_strips(indent, stop, before, pass);
  line(indent + "}");
}

}  // namespace damo
