#include "runtime/cpu/reducing_emitter.hpp"

#include <algorithm>

#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/slice_text.hpp"
#include "runtime/kernel/users_text.hpp"

namespace damo {
namespace {

constexpr int kColumnRun = 128;  // as kCpuRun, of a column

constexpr const char* kReducingHead = R"(using namespace damo;
#define DAMO_FUNCTION static inline __attribute__((always_inline))
typedef i64 place;
)";
constexpr const char* kUsersReducingHead = R"(#define DAMO_FUNCTION static __device__ __forceinline__
typedef i64 place;
)";

// Of what is left over from lanes: one partial value gains nothing from vectors, and the compiler would try.
constexpr int kLeastVector = 4;  // elements of a vector that are worth a loop of their own
constexpr const char* kNotVectorised = "#pragma clang loop vectorize(disable)";

std::string product(const std::string& index, const std::string& stride) { return stride.empty() ? index : "(" + index + ") * " + stride; }

}  // namespace

CpuReducingEmitter::CpuReducingEmitter(const KernelSpec& spec, const Layout& layout)
    : spec_(spec), layout_(layout), steps_(spec), guard_(spec), backward_(spec.is_backward()), kept_in_(static_cast<std::size_t>(spec.first_step()) + spec.steps.size(), kNowhere), passes_(spec, [this](int value, const Passes& passes) { return may_keep(value, passes); }) {
  blocks_ = has_one_run() && layout_.lanes > 1 && !layout_.chunked && !spec_.scans() && pays_blocks();
}

/// Short rows have an array for each value. Else an output of the value's type that the last pass writes can hold it until then, one value an output. In place,
/// a later pass would find the kept value where it looks for the input.
bool CpuReducingEmitter::may_keep(int value, const Passes& passes) {
  int& kept_in = kept_in_[static_cast<std::size_t>(value)];
  if (kept_in != kNowhere) return true;
  if (layout_.whole) {
    kept_in = kHeld;
    return true;
  }
  if (layout_.in_place) return false;
  for (int output = 0; output < static_cast<int>(spec_.stores.size()); ++output) {
    const int parameter = parameter_of(output);
    const auto& last = passes.all().back().stores;
    const bool is_last = std::find(last.begin(), last.end(), output) != last.end();
    const bool taken = std::find(kept_in_.begin(), kept_in_.end(), parameter) != kept_in_.end();
    if (!is_last || taken || storage_type(spec_.parameter_dtype(parameter)) != value_type(steps_.dtype(value))) continue;
    kept_in = parameter;
    return true;
  }
  return false;
}

/// Whole lines of the cache for each value.
std::int64_t CpuReducingEmitter::held_bytes(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  const std::int64_t length = geometry.reduced.count, bytes = static_cast<std::int64_t>(kept_bytes(spec));
  if (layout.form == Form::kColumns) return length / (layout.pieces ? geometry.reduced.extents[-1] : 1) * layout.lanes * bytes;
  return std::max<std::int64_t>(divide_up(length, 16) * 16, kCpuBlockElements) * bytes;
}

/// As held_bytes() has it, for one value.
std::string CpuReducingEmitter::held_elements() const {
  if (columns()) return column_length() + " * " + number(layout_.lanes);
  return in_blocks() ? number(kCpuBlockElements) : "(a.length + 15) / 16 * 16";
}

std::string CpuReducingEmitter::emit() {
  emit_head();
  if (columns()) emit_columns();
  else emit_rows();
  if (layout_.chunked) emit_finish();
  if (spec_.joins_across()) emit_finish_across();
  emit_users_kernels();
  return std::move(text_);
}

/// What all kernels of the text need.
void CpuReducingEmitter::emit_head() {
  text_ = (spec_.users_text ? users_head(spec_) + kUsersReducingHead : kReducingHead) + argument_struct(spec_, layout_) + steps_.functions() + guard_.functions();
  if (!layout_.chunked) return;
  line("struct Partial {");
  for (int join : passes_.all()[0].joins) line("  alignas(8) alignas(Joined" + number(join) + ") Joined" + number(join) + " j" + number(join) + ";");
  line("};");
}

/// Of a user's CUDA C the kernels stand behind all that they call, outside of its namespace; a block is a task.
void CpuReducingEmitter::emit_users_kernels() {
  if (!spec_.users_text) return;
  line("}");
  for (const std::string& name : entry_names(spec_, layout_)) {
    line("extern \"C\" __global__ void " + name + "(const damo_generated::Arguments a) { damo_generated::of_" + name + "(a, blockIdx.x, blockIdx.x + 1ll); }");
  }
}

/// The beginning of one kernel: a loop over tasks, unless it goes through those from `first` to `last` together.
void CpuReducingEmitter::begin(const std::string& name, bool task_by_task) {
  if (spec_.users_text) {
    line("DAMO_FUNCTION void of_" + name + "(const Arguments& a, i64 first, i64 last) {");
  } else {
    line("extern \"C\" void " + name + "(void* const* arguments, const LaunchFrame* frame, i64 first, i64 last) {");
    line("  const Arguments& a = *static_cast<const Arguments*>(arguments[0]);");
  }
  if (!spec_.numbers.empty()) line("  const Numbers numbers = a.numbers;");  // a copy that no store can change
  if (spec_.has_guards()) line("  " + guard_.declarations(has_strips()));
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (!is_scalar(access(i))) continue;
    const std::string type = loaded_type(spec_, i), n = number(i);
    if (spec_.is_table(i)) {
      line("  const " + type + " v" + n + " = a.p" + n + "[0];");
      continue;
    }
    const std::string any = passes_.is_element(i) ? "a.n > 0 && a.length > 0" : "a.n > 0";  // an array over rows without elements may have none
    line("  const " + type + " v" + n + " = " + any + " ? " + type + "(a.p" + n + "[0]) : " + type + "(0);");
  }
  if (task_by_task) line("  for (i64 task = first; task < last; ++task) {");
}

/// The end of one kernel, behind its loop over tasks.
void CpuReducingEmitter::end() {
  if (spec_.has_guards()) line("  " + guard_.tell("a.flag", has_strips()));
  line("}");
}

/// What an output receives of an element or a row.
std::string CpuReducingEmitter::storing(int output, const std::string& target, const StepPrinter::Name& names, bool to_strip) const {
  const std::string y = "y" + number(output), value = steps_.stored(output, names);
  if (!spec_.is_guarded(output) || to_strip) return target + " = " + value + ";";
  return "const " + storage_type(spec_.outputs[static_cast<std::size_t>(output)]) + " " + y + " = " + value + "; " + target + " = " + y + ";" + guard_.take(output, y);
}

std::string CpuReducingEmitter::pointer_type(int i) const {
  if (spec_.is_ordinals(i)) return "const Ordinals";
  return std::string(spec_.is_output(i) ? "" : "const ") + storage_type(spec_.parameter_dtype(i)) + (layout_.in_place ? "*" : "* __restrict");
}

/// The stride between neighbouring rows; empty for 1.
std::string CpuReducingEmitter::kept_step(int i) const {
  if (is_scalar(access(i)) || access(i) == Access::kEveryRow) return "0";
  return columns() && access(i) == Access::kRow ? "" : "a.k" + number(i) + "[" + number(layout_.rank - 1) + "]";
}

/// The stride between neighbours of the loop that vectorises; empty for 1. A 0 is written out: of a stride that is known at the call alone each element would be
/// read by itself.
std::string CpuReducingEmitter::inner_step(int i) const {
  if (is_turned(i)) return "";
  if (access(i) == Access::kSteady) return "0";
  if (columns() && !layout_.pieces) return kept_step(i);
  if (is_contiguous(i)) return "";
  return access(i) == Access::kRepeat || is_scalar(access(i)) ? "0" : "a.r" + number(i) + "[" + number(layout_.reduced_rank - 1) + "]";
}

/// Of columns: where the one of that number is, for an array of elements or of one a row.
std::string CpuReducingEmitter::column_place(int i, const std::string& column) const {
  if (!layout_.pieces) return product(column, kept_step(i));
  return passes_.is_element(spec_.is_output(i) ? spec_.stores[static_cast<std::size_t>(i - spec_.input_count())] : i) ? product(column, inner_step(i)) : product("(" + column + ") / piece", kept_step(i));
}

/// r0, r1, ...: where the row of that number begins in each array, and the inputs that it has one element of. column: of
/// columns the place along the last kept axis, `number` then counting the others.
void CpuReducingEmitter::emit_row_start(const std::string& indent, const std::string& place, int axes, const std::string& column) {
  line(indent + "i64 rest = " + place + ";");
  for (int axis = axes - 1; axis >= 0; --axis) {
    const std::string n = number(axis);
    line(indent + "const i64 c" + n + " = " + (axis > 0 ? "rest % a.kept[" + n + "]; rest /= a.kept[" + n + "];" : "rest;"));
  }
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (is_scalar(access(i)) && !spec_.is_output(i)) continue;
    const std::string n = number(i);
    std::string sum = "a.p" + n;
    if (!is_scalar(access(i)) && access(i) != Access::kEveryRow) {
      for (int axis = 0; axis < axes; ++axis) sum += " + c" + number(axis) + " * a.k" + n + "[" + number(axis) + "]";
      if (!column.empty()) sum += " + " + column_place(i, column);
      if (layout_.is_taken(i) && !columns()) sum += " + " + slice_offset(i, axes);
    }
    if (layout_.is_taken(i) && columns()) line(indent + "const i64 of" + n + " = " + slice_place(i, axes) + ";");
    line(indent + pointer_type(i) + " r" + n + " = " + sum + ";");
    if (spec_.is_output(i) || passes_.is_element(i)) continue;
    const std::string type = value_type(spec_.parameter_dtype(i));
    if (!columns()) line(indent + "const " + type + " v" + n + " = " + type + "(r" + n + "[0]);");
    else line(indent + type + " v" + n + "[" + number(layout_.lanes) + "]; for (i64 k = 0; k < count; ++k) v" + n + "[k] = " + type + "(r" + n + "[" + column_place(i, "k") + "]);");
  }
}

/// The arrays that a pass reads or writes element by element.
template <class Do>
void CpuReducingEmitter::each_moving(const Passes::Pass& pass, Do act) const {
  std::vector<int> parameters;
  for (int input : pass.inputs) {
    if (!is_scalar(access(input))) parameters.push_back(input);
  }
  for (int output : pass.stores) parameters.push_back(parameter_of(output));
  for (const auto* values : {&pass.kept, &pass.keeps}) {
    for (int value : *values) {
      const int parameter = kept_in_[static_cast<std::size_t>(value)];
      if (parameter != kHeld && std::find(parameters.begin(), parameters.end(), parameter) == parameters.end()) parameters.push_back(parameter);
    }
  }
  for (int parameter : parameters) act(parameter);
}

/// e0, e1, ...: each array's element at that place of the row, counted over the first `axes` reduced axes.
void CpuReducingEmitter::emit_reduced_offsets(const std::string& indent, const std::string& place, int axes, const Passes::Pass& pass) {
  line(indent + "i64 left_over = " + (backward_ ? "a.length - 1 - (" + place + ")" : place) + ";");
  for (int axis = axes - 1; axis >= 0; --axis) {
    const std::string n = number(axis);
    line(indent + "const i64 q" + n + " = " + (axis > 0 ? "left_over % a.reduced[" + n + "]; left_over /= a.reduced[" + n + "];" : "left_over;"));
  }
  each_moving(pass, [&](int i) {
    if (is_turned(i)) return line(indent + pointer_type(i) + " e" + number(i) + " = t" + number(i) + " + " + product("q0", number(layout_.lanes)) + ";");
    std::string sum = "r" + number(i);
    if (access(i) != Access::kRepeat && access(i) != Access::kScalar) {
      for (int axis = 0; axis < axes; ++axis) {
        const bool unit = axis == layout_.reduced_rank - 1 && !columns() && is_contiguous(i);
        sum += " + " + product("q" + number(axis), unit ? "" : "a.r" + number(i) + "[" + number(axis) + "]");
      }
      if (layout_.is_taken(i) && columns()) {
        std::string position = "of" + number(i);
        for (int axis = 0; axis < axes; ++axis) position += " + q" + number(axis) + " * a.by" + number(i) + "[" + number(axis) + "]";
        sum += " + a.positions" + number(i) + "[" + position + "] * a.apart" + number(i);
      }
    }
    line(indent + pointer_type(i) + " e" + number(i) + " = " + sum + ";");
  });
}

std::string CpuReducingEmitter::kept(int value, const std::string& place, const std::function<std::string(int)>& at) const {
  const int parameter = kept_in_[static_cast<std::size_t>(value)];
  return parameter != kHeld ? at(parameter) : "held" + number(value) + "[" + (columns() ? product(place, number(layout_.lanes)) + " + k" : in_blocks() ? "b * a.length + " + place : place) + "]";
}

/// What a pass does with one element, but for joining it.
void CpuReducingEmitter::emit_element(const std::string& indent, const std::string& index, const std::string& place, const Passes::Pass& pass, const std::string& prefixes, const std::string& strip_place) {
  const std::string from_first = backward_ && !columns() ? "-(" + index + ")" : index;
  const auto at = [&](int i) { return "e" + number(i) + "[" + product(from_first, inner_step(i)) + "]"; };
  const auto names = [this](int value) { return name(value); };
  for (int input : pass.inputs) {
    if (is_scalar(access(input))) continue;
    const std::string type = value_type(spec_.parameter_dtype(input));
    line(indent + "const " + type + " v" + number(input) + " = " + type + "(" + at(input) + ");");
  }
  for (int value : pass.kept) {
    line(indent + "const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = " + kept(value, place, at) + ";");
  }
  text_ += prefixes;
  for (int value : pass.steps) {
    const std::string text = spec_.step_of(value).is_place ? (backward_ ? "a.length - 1 - (" + place + ")" : place) : steps_.call(value, names);
    line(indent + "const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = " + text + ";");
  }
  for (int value : pass.keeps) line(indent + kept(value, place, at) + " = v" + number(value) + ";");
  for (int output : pass.stores) {
    const bool to_strip = !strip_place.empty();
    const std::string target = to_strip ? "strip" + number(output) + "[" + strip_place + "]" : at(parameter_of(output));
    line(indent + storing(output, target, names, to_strip));
  }
  for (int join : pass.across) line(indent + "h" + number(join) + "[" + place + "] = " + steps_.appended(join, "h" + number(join) + "[" + place + "]", names) + ";");
}

void CpuReducingEmitter::declare_lanes(const std::string& indent, const std::string& letter, int join, const std::string& count) {
  const std::string n = number(join), lanes = "[" + number(layout_.lanes) + "];";
  const auto& members = spec_.step_of(join).join->members;
  if (members.empty()) line(indent + "Joined" + n + " " + letter + n + lanes);
  for (const auto& [type, member] : members) line(indent + type + " " + letter + n + "_" + member + lanes);
  if (!count.empty()) line(indent + "for (i64 k = 0; k < " + count + "; ++k) " + set_lane(letter, join, "k", "neutral" + n + "()"));
}

std::string CpuReducingEmitter::lane(const std::string& letter, int join, const std::string& k) const {
  const std::string n = number(join);
  const auto& members = spec_.step_of(join).join->members;
  if (members.empty()) return letter + n + "[" + k + "]";
  std::string text;
  for (const auto& [type, member] : members) text += (text.empty() ? "" : ", ") + letter + n + "_" + member + "[" + k + "]";
  return "Joined" + n + "{" + text + "}";
}

std::string CpuReducingEmitter::set_lane(const std::string& letter, int join, const std::string& k, const std::string& value) const {
  const std::string n = number(join);
  const auto& members = spec_.step_of(join).join->members;
  if (members.empty()) return letter + n + "[" + k + "] = " + value + ";";
  std::string text = "{ const Joined" + n + " whole = " + value + ";";
  for (const auto& [type, member] : members) text += " " + letter + n + "_" + member + "[" + k + "] = whole." + member + ";";
  return text + " }";
}

/// Into the values that are called by this letter and the join's number: into lane k of them, or into one. are_first: which have none yet.
void CpuReducingEmitter::emit_joins(const std::string& indent, const std::string& letter, bool in_lanes, const Passes::Pass& pass, bool are_first) {
  for (int join : pass.joins) {
    const std::string n = number(join), before = are_first ? "neutral" + n + "()" : in_lanes ? lane(letter, join, "k") : letter + n;
    const std::string after = steps_.appended(join, before, [this](int value) { return name(value); });
    line(indent + (in_lanes ? set_lane(letter, join, "k", after) : letter + n + " = " + after + ";"));
  }
}

/// What is left over from lanes: one more round of all, of which some have no element.
void CpuReducingEmitter::emit_last_lanes(const std::string& indent, const std::string& count, const std::string& before, const Passes::Pass& pass) {
  line(indent + "if (j < " + count + ")");
  line(kLanes);
  line(indent + "  for (int k = 0; k < " + number(layout_.lanes) + "; ++k) {");
  // A store under the condition would keep the lanes in memory, in the other loops too.
  for (int join : pass.joins) line(indent + "    Joined" + number(join) + " n" + number(join) + " = " + lane("m", join, "k") + ";");
  line(indent + "    if (j + k < " + count + ") {");
  emit_element(indent + "      ", "j + k", before + "j + k", pass);
  emit_joins(indent + "      ", "n", false, pass);
  line(indent + "    }");
  for (int join : pass.joins) line(indent + "    " + set_lane("m", join, "k", "n" + number(join)));
  line(indent + "  }");
}

/// So many elements from e0, e1, ... on: into lanes, and what is left over from few lanes into the values of this letter.
void CpuReducingEmitter::emit_elements(const std::string& indent, const std::string& count, const std::string& before, const std::string& letter, const Passes::Pass& pass) {
  const std::string lanes = number(layout_.lanes);
  if (pass.joins.empty()) return emit_stores(indent, count, before, pass);
  if (layout_.lanes == 1) {  // counted from r: from 0, Clang's loop over rows of 4 takes a third longer
    line(indent + "for (i64 k = r; k < r + " + count + "; ++k) {");
    emit_element(indent + "  ", "k - r", "k", pass);
    emit_joins(indent + "  ", letter, false, pass);
    line(indent + "}");
    return;
  }
  if (in_blocks()) {  // Rows have a first element for each lane. Neutral values in memory would be written in pieces, for which a vector that is read at once waits.
    line(kLanes);
    line(indent + "for (int k = 0; k < " + lanes + "; ++k) {");
    emit_element(indent + "  ", "k", before + "k", pass);
    emit_joins(indent + "  ", "m", true, pass, true);
    line(indent + "}");
  }
  line(indent + "i64 j = " + (in_blocks() ? lanes : "0") + ";");
  line(indent + "for (; j + " + lanes + " <= " + count + "; j += " + lanes + ") {");
  emit_ahead(indent, before, pass);
  line(kLanes);
  line(indent + "  for (int k = 0; k < " + lanes + "; ++k) {");
  emit_element(indent + "    ", "j + k", before + "j + k", pass);
  emit_joins(indent + "    ", "m", true, pass);
  line(indent + "  }\n" + indent + "}");
  if (layout_.lanes >= kCpuShortLanes) return emit_last_lanes(indent, count, before, pass);
  line(kNotVectorised);
  line(indent + "for (; j < " + count + "; ++j) {");
  emit_element(indent + "  ", "j", before + "j", pass);
  emit_joins(indent + "  ", letter, false, pass);
  line(indent + "}");
}

/// m3[0], ...: what all lanes have.
void CpuReducingEmitter::emit_joined_lanes(const std::string& indent, const Passes::Pass& pass) {
  for (int half = layout_.lanes / 2; half > 0; half /= 2) {
    for (int join : pass.joins) {
      const std::string joined = "reduce" + number(join) + "(" + lane("m", join, "k") + ", " + lane("m", join, "k + " + number(half)) + ")";
      if (half >= kLeastVector) line(kLanes);
      line(indent + "for (int k = 0; k < " + number(half) + "; ++k) " + set_lane("m", join, "k", joined));
    }
  }
}

void CpuReducingEmitter::emit_row_pass(const Passes::Pass& pass, const std::string& before) {
  const std::string last = number(layout_.reduced_rank - 1), longest = number(kCpuRun * layout_.lanes);
  const bool several = layout_.reduced_rank > 1, joins = !pass.joins.empty(), in_runs = joins && !has_one_run();
  const std::string letter = in_runs ? "s" : "j", stop = in_runs ? "stop" : "end";
  for (int join : pass.joins) line("      Joined" + number(join) + " j" + number(join) + " = " + (before.empty() ? "neutral" + number(join) + "()" : before + number(join) + "[at]") + ";");
  line(in_runs || several ? "      for (i64 r = begin; r < end;) {" : "      {\n      const i64 r = begin;");
  if (in_runs) line("      const i64 stop = end - r < " + longest + " ? end : r + " + longest + ";");
  for (int join : pass.joins) {
    const std::string n = number(join);
    if (in_runs) line("      Joined" + n + " s" + n + " = neutral" + n + "();");
    if (layout_.lanes > 1) declare_lanes("      ", "m", join, number(layout_.lanes));
  }
  if (in_runs) line(several ? "      while (r < stop) {" : "      {");
  line("        i64 run = " + stop + " - r;");
  if (several) line("        const i64 c = r % a.reduced[" + last + "]; if (a.reduced[" + last + "] - c < run) run = a.reduced[" + last + "] - c;");
  emit_reduced_offsets("        ", "r", layout_.reduced_rank, pass);
  emit_elements("        ", "run", "r + ", letter, pass);
  if (in_runs || several) line("        r += run;");
  if (in_runs) line("      }");
  if (joins && layout_.lanes > 1) emit_joined_lanes("      ", pass);
  for (int join : pass.joins) {
    const std::string n = number(join), reduce = "reduce" + n + "(", own = letter + n;
    if (layout_.lanes > 1) line("      " + own + " = " + reduce + lane("m", join, "0") + ", " + own + ");");
    if (in_runs) line("      j" + n + " = " + reduce + "j" + n + ", s" + n + ");");
  }
  line("      }");
}

void CpuReducingEmitter::emit_row_values(const std::string& indent, const std::vector<int>& given, const std::vector<int>& steps) {
  const auto emit = [&](int value, const std::string& text) {
    const std::string type = value_type(steps_.dtype(value)), n = number(value);
    if (columns()) line(indent + type + " v" + n + "[" + number(layout_.lanes) + "]; for (i64 k = 0; k < count; ++k) v" + n + "[k] = " + text + ";");
    else line(indent + "const " + type + " v" + n + " = " + text + ";");
  };
  for (int join : given) emit(join, joined_value(join));
  for (int value : steps) emit(value, steps_.call(value, [this](int input) { return row_name(input); }));
}

/// What is stored of each row, and these values of it, which nothing else looks at.
void CpuReducingEmitter::emit_row_results(const std::string& indent, const std::vector<int>& given, const std::vector<int>& steps) {
  const std::string inner = columns() ? indent + "  " : indent;
  const auto is_new = [&](int value) { return std::find(given.begin(), given.end(), value) != given.end() || std::find(steps.begin(), steps.end(), value) != steps.end(); };
  const auto names = [&](int value) { return is_new(value) ? local_name(value) : row_name(value); };
  if (passes_.row_stores().empty()) return;
  if (columns()) line(indent + "for (i64 k = 0; k < count; " + (layout_.pieces ? "k += piece" : "++k") + ") {");
  const auto declare = [&](int value, const std::string& text) { line(inner + "const " + value_type(steps_.dtype(value)) + " " + local_name(value) + " = " + text + ";"); };
  for (int join : given) declare(join, joined_value(join));
  for (int value : steps) declare(value, steps_.call(value, names));
  for (int output : passes_.row_stores()) {
    const int i = parameter_of(output);
    line(inner + storing(output, "r" + number(i) + "[" + (columns() && !is_scalar(access(i)) ? column_place(i, "k") : "0") + "]", names));
  }
  if (columns()) line(indent + "}");
}

/// held3, ...: values of a row, of some, or of a tile of columns, that later passes want: of rows that are turned beside their tiles, else in the thread's memory.
void CpuReducingEmitter::declare_held(const std::string& indent) {
  std::string before;  // bytes an element of those declared so far
  for (int value = 0; value < static_cast<int>(kept_in_.size()); ++value) {
    if (kept_in_[static_cast<std::size_t>(value)] != kHeld) continue;
    const std::string type = value_type(steps_.dtype(value)), held = " held" + number(value);
    if (layout_.turned) {
      line(indent + "alignas(64) " + type + held + "[" + number((kCpuRun - 1) * layout_.lanes) + "];");
      continue;
    }
    if (before.empty()) line(indent + "const i64 all_held = " + held_elements() + ";");
    line(indent + type + "* __restrict const" + held + " = reinterpret_cast<" + type + "*>(static_cast<char*>(frame->shared)" + before + ");");
    before += " + all_held * i64(sizeof(" + type + "))";
  }
}

void CpuReducingEmitter::emit_rows() {
  if (has_bands()) return emit_bands();
  begin(entry_name(spec_));
  declare_held("    ");
  if (spec_.joins_across()) {
    if (layout_.batched) line("    const i64 batch = task / a.chunks, share = task % a.chunks, from = batch * a.joined + share * a.tile, end_row = (batch + 1) * a.joined, to = from + a.tile < end_row ? from + a.tile : end_row, begin = 0, end = a.length;");
    else line("    const i64 from = task * a.tile, to = from + a.tile < a.n ? from + a.tile : a.n, begin = 0, end = a.length;");
    emit_held_across();
  } else {
    line("    const i64 chunk = task % a.chunks, from = task / a.chunks * a.tile, to = from + a.tile < a.n ? from + a.tile : a.n;");
    line("    const i64 begin = chunk * a.chunk, end = begin + a.chunk < a.length ? begin + a.chunk : a.length;");
  }
  if (in_blocks() || has_windows()) {
    if (in_blocks()) emit_row_block();
    else emit_windows();
    line("  }");
    if (has_strips()) line("  if (a.fast & 2) stream_fence();");
    return end();
  }
  line("    for (i64 row = from; row < to; ++row) {");
  emit_row_start("      ", "row", layout_.rank, "");
  declare_ahead("      ");
  emit_row_values("      ", {}, passes_.first_row_steps());
  for (const Passes::Pass& pass : passes_.all()) {
    emit_row_pass(pass);
    if (&pass != &passes_.all().back()) emit_row_values("      ", pass.given, pass.row_steps);
  }
  if (layout_.chunked) {
    for (int join : passes_.all()[0].joins) line("      static_cast<Partial*>(a.scratch)[row * a.chunks + chunk].j" + number(join) + " = j" + number(join) + ";");
  } else {
    emit_row_results("      ", passes_.all().back().given, passes_.all().back().row_steps);
  }
  line("    }\n  }");
  if (has_strips()) line("  if (a.fast & 2) stream_fence();");
  end();
}

void CpuReducingEmitter::emit_column_pass(const Passes::Pass& pass) {
  // The values of a run, and of all runs where there are several.
  for (int join : pass.joins) {
    declare_lanes("    ", "m", join, "count");
    if (!layout_.turned) declare_lanes("    ", "t", join, "(in_runs ? count : 0)");
  }
  // Four elements of a row at a time: four streams from memory, and a fourth of the traffic to the partial values.
  const int axes = column_axes();
  const bool bundles = axes == 1 && pass.stores.empty() && pass.keeps.empty() && pass.kept.empty();
  line("    for (i64 r = begin; r < end;) {");
  line("    const i64 stop = r + " + number(kColumnRun) + " < end ? r + " + number(kColumnRun) + " : end;");
  if (bundles) {
    line("    for (; r + 4 <= stop; r += 4) {\n      for (i64 k = 0; k < count; ++k) {");
    for (int join : pass.joins) line("        Joined" + number(join) + " j" + number(join) + " = " + lane("m", join, "k") + ";");
    for (int u = 0; u < 4; ++u) {
      line("        {");
      emit_reduced_offsets("          ", "r + " + number(u), 1, pass);
      emit_element("          ", "k", "r + " + number(u), pass);
      emit_joins("          ", "j", false, pass);
      line("        }");
    }
    for (int join : pass.joins) line("        " + set_lane("m", join, "k", "j" + number(join)));
    line("      }\n    }");
  }
  line("    for (; r < stop; ++r) {");
  emit_reduced_offsets("      ", "r", axes, pass);
  if (streams(pass)) {
    emit_stores("      ", "count", "r", pass);
  } else {
    if (layout_.whole && !layout_.turned && !(pass.keeps.empty() && pass.kept.empty())) line("#pragma clang loop vectorize(assume_safety)");  // what is held lies apart
    line("      for (i64 k = 0; k < count; ++k) {");
    emit_element("        ", "k", "r", pass);
    emit_joins("        ", "m", true, pass);
    line("      }");
  }
  line("    }");
  for (int join : pass.joins) {
    if (layout_.turned) break;
    const std::string n = number(join), joined = "reduce" + n + "(" + lane("t", join, "k") + ", " + lane("m", join, "k") + ")";
    line("    if (in_runs)\n" + std::string(kBriefly) + "\n      for (i64 k = 0; k < count; ++k) { " + set_lane("t", join, "k", joined) + " " + set_lane("m", join, "k", "neutral" + n + "()") + " }");
  }
  line("    }");
  for (int join : pass.joins) {
    if (!layout_.turned) line("    if (in_runs)\n" + std::string(kBriefly) + "\n      for (i64 k = 0; k < count; ++k) " + set_lane("m", join, "k", lane("t", join, "k")));
  }
  if (layout_.pieces) emit_joined_pieces(pass);
}

/// In each column of a piece what all of them have.
void CpuReducingEmitter::emit_joined_pieces(const Passes::Pass& pass) {
  for (int join : pass.joins) {
    const std::string n = number(join);
    line("    for (i64 of_piece = 0; of_piece < count; of_piece += piece) {");
    line("      Joined" + n + " all" + n + " = " + lane("m", join, "of_piece") + ";");
    line("      for (i64 k = of_piece + 1; k < of_piece + piece; ++k) all" + n + " = reduce" + n + "(all" + n + ", " + lane("m", join, "k") + ");");
    line("      for (i64 k = of_piece; k < of_piece + piece; ++k) " + set_lane("m", join, "k", "all" + n) + "\n    }");
  }
}

/// t3, ...: the tiles of turned inputs, filled, and of outputs; or the latter, back to where they belong.
void CpuReducingEmitter::emit_turned(bool back) {
  const std::string lanes = number(layout_.lanes);
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (!is_turned(i)) continue;
    const std::string n = number(i);
    if (back && spec_.is_output(i)) line("    turn_rows(r" + n + ", " + kept_step(i) + ", t" + n + ", " + lanes + ", count, a.length);");
    if (back) continue;
    line("    alignas(64) " + storage_type(spec_.parameter_dtype(i)) + " t" + n + "[" + number(kCpuRun - 1) + " * " + lanes + "];");
    if (!spec_.is_output(i)) line("    turn_rows(t" + n + ", " + lanes + ", r" + n + ", " + kept_step(i) + ", a.length, count);");
  }
}

void CpuReducingEmitter::emit_columns() {
  const std::string kept = "a.kept[" + number(layout_.rank - 1) + "]", extent = layout_.pieces ? kept + " * piece" : kept, lanes = layout_.pieces ? "width" : number(layout_.lanes), length = column_length();
  begin(entry_name(spec_));
  if (layout_.pieces) line("    const i64 piece = a.reduced[" + number(layout_.reduced_rank - 1) + "], width = " + number(layout_.lanes) + " / piece * piece;");
  const std::string tiles = "(" + extent + " + " + lanes + " - 1) / " + lanes;
  if (layout_.turned) {  // few elements each: a task has several
    line("    const i64 tiles = " + tiles + ", all = a.n / " + extent + " * tiles;");
    line("    for (i64 tile = task * a.tile; tile < all && tile < (task + 1) * a.tile; ++tile) {");
  } else {
    line("    const i64 chunk = task % a.chunks, tile = task / a.chunks, tiles = " + tiles + ";");
  }
  line("    const i64 outer = tile / tiles, column = tile % tiles * " + lanes + ", left = " + extent + " - column, count = left < " + lanes + " ? left : " + lanes + ";");
  line(layout_.turned ? "    const i64 begin = 0, end = a.length;" : "    const i64 begin = chunk * a.chunk, end = begin + a.chunk < " + length + " ? begin + a.chunk : " + length + ";");
  if (!layout_.turned) line("    const bool in_runs = end - begin > " + number(kColumnRun) + ";");
  emit_row_start("    ", "outer", layout_.rank - 1, "column");
  declare_held("    ");
  emit_turned(false);
  emit_row_values("    ", {}, passes_.first_row_steps());
  for (const Passes::Pass& pass : passes_.all()) {
    emit_column_pass(pass);
    if (&pass != &passes_.all().back()) emit_row_values("    ", pass.given, pass.row_steps);
  }
  if (layout_.chunked) {
    emit_parts("a.n");
    for (int join : passes_.all()[0].joins) {
      const std::string part = "part" + number(join) + "[chunk * a.n + outer * " + kept + " + ";
      if (layout_.pieces) line("    for (i64 k = 0; k < count; k += piece) " + part + "(column + k) / piece] = " + lane("m", join, "k") + ";");
      else line(std::string(kBriefly) + "\n    for (i64 k = 0; k < count; ++k) " + part + "column + k] = " + lane("m", join, "k") + ";");
    }
  } else {
    emit_row_results("    ", passes_.all().back().given, passes_.all().back().row_steps);
  }
  emit_turned(true);
  line(layout_.turned ? "  }\n  }" : "  }");
  if (has_strips()) line("  if (a.fast & 2) stream_fence();");
  end();
}

}  // namespace damo
