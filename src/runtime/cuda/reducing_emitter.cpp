#include "runtime/cuda/reducing_emitter.hpp"

#include <algorithm>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/reducing_text.hpp"
#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/run_schedule.hpp"
#include "runtime/cuda/scan_text.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/cuda/vector_text.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/slice_text.hpp"
#include "runtime/kernel/users_text.hpp"

namespace damo {
namespace {

/// Of what the text declares and this kernel does not need: warnings are for the user's own text, which stands before.
constexpr const char* kNoWarnings = "#pragma nv_diag_suppress 177\n";

}  // namespace

CudaReducingEmitter::CudaReducingEmitter(const KernelSpec& spec, const Layout& layout)
    : spec_(spec), layout_(layout), steps_(spec), passes_(spec, [&layout](int, const Passes&) { return layout.whole; }), block_(reducing_block(layout)), asks_early_(asks_early(spec, layout)), backward_(spec.is_backward()) {
  for (const Passes::Pass& pass : passes_.all()) across_.insert(across_.end(), pass.across.begin(), pass.across.end());
  if (has_runs()) places_ = places_of_run(spec, layout);
  if (!stays()) return;
  ahead_ = arrays_ahead(spec, layout);
  shared_ = arrays_shared(spec, layout);
  across_shared_ = joins_shared(spec, layout);
  if (layout.cluster > 1 && across_.empty()) own_ = own_maximum(spec, passes_);
}

std::string CudaReducingEmitter::stored(int i) const { return stored_type(spec_, i); }
std::string CudaReducingEmitter::loaded(int i) const { return loaded_type(spec_, i); }

int CudaReducingEmitter::meetings() const {
  return static_cast<int>(std::count_if(passes_.all().begin(), passes_.all().end(), [](const Passes::Pass& pass) { return !pass.joins.empty(); }));
}

/// Neighbouring threads of the second kernel read neighbours.
std::string CudaReducingEmitter::partial(const std::string& chunk) const {
  const std::string row = several() ? "row + k" : "row";
  return "static_cast<Partial*>(a.scratch)[" + (rows() ? "row * a.chunks + " + chunk : chunk + " * a.n + " + row) + "]";
}

/// For each of a thread's rows, if it has several: k.
std::string CudaReducingEmitter::unrolled(const std::string& indent, const std::string& body) const {
  if (!several()) return indent + body;
  return "#pragma unroll\n" + indent + "for (int k = 0; k < " + number(layout_.vector) + "; ++k) " + body;
}

std::string CudaReducingEmitter::emit() {
  emit_head();
  if (spec_.scans()) text_ += kCudaScan;
  if (layout_.cluster > 1) text_ += kCudaCluster;
  if (stays()) {
    text_ += kCudaAhead;
    if (has_words()) text_ += kCudaWords;
    if (layout_.cluster > 1) text_ += kCudaMeetings;
    if (own_) text_ += kCudaOwnMaximum;
    emit_fetch_row();
  }
  if (has_runs()) text_ += std::string(kCudaAhead) + kCudaRuns;
  if (layout_.chunked) {
    line("struct Partial {");
    for (int join : passes_.all()[0].joins) line("  alignas(8) alignas(Joined" + number(join) + ") Joined" + number(join) + " j" + number(join) + ";");
    line("};");
  }
  emit_main();
  if (layout_.chunked) emit_finish();
  if (!across_.empty()) emit_finish_across();
  emit_users_kernels();
  return std::move(text_);
}

/// What all kernels of the text need.
void CudaReducingEmitter::emit_head() {
  text_ = (spec_.users_text ? cuda_head(users_head(spec_) + kNoWarnings) : cuda_head()) + kCudaRows;
  if (!across_.empty()) text_ += kCudaHeld;
  if (divides_by_magic(layout_, layout_.rank) || divides_by_magic(layout_, layout_.reduced_rank)) text_ += kCudaDividePlaces;
  if (divides()) text_ += kCudaDivide;
  if (divides_by_count()) text_ += kCudaCount;
  line(std::string("typedef ") + (layout_.wide ? "i64" : "i32") + " place;");
  if (!spec_.scans_alone() && compares_place()) text_ += kCudaIsPlace;
  text_ += argument_struct(spec_, layout_) + cuda_guard_functions(spec_) + steps_.functions();
  emit_offset_functions();
}

/// The head of a kernel. Of a user's CUDA C it is that of a function, which a kernel outside of the generated namespace calls.
void CudaReducingEmitter::begin_kernel(const std::string& name, const std::string& bounds, const std::string& cluster) {
  const std::string head = "extern \"C\" __global__ void" + cluster + " __launch_bounds__(" + bounds + ") " + name + "(const __grid_constant__ ";
  line((spec_.users_text ? "DAMO_FUNCTION void of_" + name + "(const Arguments& a)" : head + "Arguments a)") + " {");
  if (spec_.users_text) users_kernels_ += head + "damo_generated::Arguments a) { damo_generated::of_" + name + "(a); }\n";
  line("  wait_first();");
}

void CudaReducingEmitter::emit_users_kernels() {
  if (spec_.users_text) text_ += "}\n" + users_kernels_;
}

/// along3(a, p): how far place p of a row lies from its beginning in array 3. by3(a, p): likewise in the positions of what is taken from array 3, of columns.
void CudaReducingEmitter::emit_offset_functions() {
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (moves(i)) emit_offset_function(i, "along", "r");
    if (moves(i) && layout_.is_taken(i) && !rows()) emit_offset_function(i, "by", "by");
  }
}

/// Of an array that moves along the row, by strides of this name.
void CudaReducingEmitter::emit_offset_function(int i, const std::string& function, const std::string& strides) {
  const std::string r = "a." + strides + number(i);
  line("DAMO_FUNCTION place " + function + number(i) + "(const Arguments& a, place p) {");
  if (backward_) line("  p = place(a.length) - 1 - p;");
  std::string sum;
  for (int axis = layout_.reduced_rank - 1; axis >= 0; --axis) {
    const std::string n = number(axis), extent = "place(a.reduced[" + n + "])";
    const bool unit = axis == layout_.reduced_rank - 1 && rows() && access(i) != Access::kStrided;
    if (axis > 0) line("  const place q" + n + " = " + quotient("p", "reduced", layout_.reduced_rank, n) + ";");
    const std::string c = axis > 0 ? "(p - q" + n + " * " + extent + ")" : "p";
    if (is_steady(i) && rows() && axis == layout_.reduced_rank - 1) {  // it stays where it is along this axis
      line("  p = q" + n + ";");
      continue;
    }
    sum += (sum.empty() ? "" : " + ") + (unit ? c : c + " * place(" + r + "[" + n + "])");
    if (axis > 0) {
      line("  const place part" + n + " = " + sum + "; p = q" + n + ";");
      sum = "part" + n;
    }
  }
  line("  return " + sum + ";\n}");
}

void CudaReducingEmitter::begin(const std::string& name) {
  const std::string lanes = number(layout_.lanes), slots = number(block_ / layout_.lanes), vector = several() ? number(layout_.vector) : "1";
  const std::string cluster = layout_.cluster > 1 ? " __cluster_dims__(" + number(layout_.cluster) + ", 1, 1)" : "";
  begin_kernel(name, bounds(), cluster);
  line("  const int t = threadIdx.x, lane = t " + (beside() ? "/ " + slots : "% " + lanes) + ", slot = t " + (beside() ? "% " + slots : "/ " + lanes) + ";");
  const std::string block = layout_.cluster > 1 ? "(blockIdx.x / " + number(layout_.cluster) + ")" : "blockIdx.x";
  if (across_.empty() && !stays() && !has_runs()) line("  const i64 own = (i64(" + block + ") * " + slots + " + slot) * " + vector + ", row = own < a.n ? own : a.n - " + vector + ";");
  else line("  const i64 block = " + block + ";");
  if (!spec_.numbers.empty()) line("  const Numbers& numbers = a.numbers;");
  emit_single_values();
}

/// The inputs of one element for all. An array over rows without elements may have none.
void CudaReducingEmitter::emit_single_values() {
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (!is_scalar(access(i))) continue;
    const std::string one = loaded(i) + "(a.p" + number(i) + "[0])";  // an array over rows without elements may have none
    line("  const " + loaded(i) + " v" + number(i) + " = " + (passes_.is_element(i) ? "a.length > 0 ? " + one + " : " + loaded(i) + "(0)" : one) + ";");
  }
}

/// How far a thread's k-th row lies from its first: " + k * stride".
std::string CudaReducingEmitter::across(int i) const {
  if (!several() || is_scalar(access(i))) return "";
  return " + k * place(a.k" + number(i) + "[" + number(layout_.rank - 1) + "])";
}

/// c0, c1, ...: the row's place along each axis.
std::string CudaReducingEmitter::coordinates() const {
  std::string text = "  place rest = place(row);\n";
  for (int axis = layout_.rank - 1; axis >= 0; --axis) {
    const std::string n = number(axis), extent = "place(a.kept[" + n + "])";
    if (axis == 0) text += "  const place c0 = rest;\n";
    else text += "  const place rest" + n + " = " + quotient("rest", "kept", layout_.rank, n) + ", c" + n + " = rest - rest" + n + " * " + extent + "; rest = rest" + n + ";\n";
  }
  return text;
}

/// A place through the extent of an axis of `extents`, of which there are several.
std::string CudaReducingEmitter::quotient(const std::string& place, const std::string& extents, int rank, const std::string& axis) const {
  if (!divides_by_magic(layout_, rank)) return place + " / place(a." + extents + "[" + axis + "])";
  return "place(divide(u32(" + place + "), a." + extents + "_magic[" + axis + "], a." + extents + "_shift[" + axis + "]))";
}

std::string CudaReducingEmitter::row_start(int i) const {
  const std::string n = number(i);
  if (is_in_run(i)) return "  " + pointer_type(i) + "r" + n + " = run" + n + " + at_row * " + number(layout_.items * layout_.vector) + ";\n";
  std::string sum = "a.p" + n;
  if (!is_scalar(access(i)) && access(i) != Access::kEveryRow) {
    for (int axis = 0; axis < layout_.rank; ++axis) sum += " + c" + number(axis) + " * place(a.k" + n + "[" + number(axis) + "])";
    if (layout_.is_taken(i) && rows()) sum += " + " + slice_offset(i, layout_.rank, "place");
  }
  return "  " + pointer_type(i) + "r" + n + " = " + sum + ";\n";
}

/// r0, r1, ...: where the row begins in each array, and the inputs that it has one element of.
void CudaReducingEmitter::emit_row_start() {
  text_ += coordinates();
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (is_scalar(access(i)) && !spec_.is_output(i)) continue;
    const std::string n = number(i);
    text_ += row_start(i);
    if (layout_.is_taken(i) && !rows()) line("  const place of" + n + " = " + slice_place(i, layout_.rank, "place") + ";");
    if (spec_.is_output(i) || passes_.is_element(i)) continue;
    if (several()) line("  " + loaded(i) + " v" + n + "[" + number(layout_.vector) + "];\n" + unrolled("  ", "v" + n + "[k] = " + loaded(i) + "(r" + n + "[" + (across(i).empty() ? "0" : across(i).substr(3)) + "]);"));
    else line("  const " + loaded(i) + " v" + n + " = " + loaded(i) + "(r" + n + "[0]);");
  }
}

/// An element that is divided by a value of its row: one reciprocal serves them all.
bool CudaReducingEmitter::divides_by_row(int value) const {
  const Step& step = spec_.step_of(value);
  if (step.join || step.code != "x0 / x1" || value_type(step.compute) != "float" || step.rounds || !(step.result == float32 || is_half(step.result)) || step.inputs.size() != 2 || !passes_.is_element(value)) return false;
  const int by = step.inputs[1], first_constant = spec_.input_count() + static_cast<int>(spec_.numbers.size());
  return !passes_.is_element(by) && (by < first_constant || by >= spec_.first_step()) && value_type(steps_.dtype(by)) == "float" && value_type(steps_.dtype(step.inputs[0])) == "float";
}

bool CudaReducingEmitter::divides() const {
  for (int value = spec_.first_step(); value < spec_.first_step() + static_cast<int>(spec_.steps.size()); ++value) {
    if (divides_by_row(value)) return true;
  }
  return false;
}

/// Whether a block that goes over many rows divides a value of each by their length: one reciprocal serves them all.
bool CudaReducingEmitter::is_over_count(int value) const {
  constexpr std::int64_t kMostCounted = std::int64_t{1} << 20;
  if ((!stays() && across_.empty()) || !layout_.whole || several() || passes_.is_element(value)) return false;
  if (std::int64_t{layout_.lanes} * layout_.items * layout_.vector * layout_.cluster > kMostCounted) return false;
  const Step& step = spec_.step_of(value);
  if (step.row || value_type(step.compute) != "float" || step.rounds || value_type(step.result) != "float") return false;
  if (step.join) return !step.join->across && step.join->post == "a / T(n)";
  if (step.code != "x0 / x1" || step.inputs.size() != 2 || value_type(steps_.dtype(step.inputs[0])) != "float") return false;
  const int by = step.inputs[1];
  return by >= spec_.first_step() && spec_.step_of(by).is_count && spec_.step_of(by).result == float32;
}

bool CudaReducingEmitter::divides_by_count() const {
  for (int value = spec_.first_step(); value < spec_.first_step() + static_cast<int>(spec_.steps.size()); ++value) {
    if (is_over_count(value)) return true;
  }
  return false;
}

/// Whether nothing reads the value but outputs of 16-bit floats, and what rounds it to one.
bool CudaReducingEmitter::is_only_stored_short(int value) const {
  for (const Step& step : spec_.steps) {
    const bool rounds = step.rounds && is_half(step.result) && step.code == "x0";
    if (!rounds && std::find(step.inputs.begin(), step.inputs.end(), value) != step.inputs.end()) return false;
  }
  for (std::size_t i = 0; i < spec_.stores.size(); ++i) {
    if (spec_.stores[i] == value && !is_half(spec_.outputs[i])) return false;
  }
  return true;
}

/// d3: what divides elements, once for all passes.
void CudaReducingEmitter::emit_divisors(const Passes::Pass& pass) {
  for (int value : pass.steps) {
    if (!divides_by_row(value)) continue;
    const int by = spec_.step_of(value).inputs[1];
    if (std::find(divisors_.begin(), divisors_.end(), by) != divisors_.end()) continue;
    divisors_.push_back(by);
    const std::string n = number(by), text = "divisor(" + steps_.value_text(by, [this](int input) { return name(input); }) + ");";
    if (is_row_value(by)) line("  Divisor d" + n + "[" + number(layout_.vector) + "];\n" + unrolled("  ", "d" + n + "[k] = " + text));
    else line("  const Divisor d" + n + " = " + text);
  }
}

std::string CudaReducingEmitter::call(int value) const {
  const auto names = [this](int input) { return name(input); };
  if (!divides_by_row(value)) return steps_.call(value, names);
  const char* const divides = is_only_stored_short(value) ? "divide_to_half(" : is_half(spec_.step_of(value).result) ? "divide_once(" : "divide(";
  return divides + steps_.value_text(spec_.step_of(value).inputs[0], names) + ", d" + number(spec_.step_of(value).inputs[1]) + (is_row_value(spec_.step_of(value).inputs[1]) ? "[k])" : ")");
}

/// What a pass does with each element of the vector at `at`; without `sought`, of one in which no place is what sought_by() gives.
void CudaReducingEmitter::emit_elements(const Passes::Pass& pass, bool sought) {
  const std::string guard = asks_elements() ? "if (" + inside("at + k >= begin", "at + k < end") + ") " : "";
  // What lies beside the row is computed too, and not joined: a branch an element costs more. A user's code, and a long loop, may go on for ever with what they were not meant for.
  const bool all = !spec_.has_users_code() && std::none_of(spec_.steps.begin(), spec_.steps.end(), is_called);
  const std::string joins = all ? guard : "";
  const auto names = [this](int value) { return name(value); };
  line("#pragma unroll\n        for (int k = 0; k < " + number(layout_.vector) + "; ++k) " + (all ? "" : guard) + "{");
  for (int input : pass.inputs) {
    if (!is_read(input)) continue;
    const std::string n = number(input), x = "x" + n + "[u]";
    line("          const " + loaded(input) + " v" + n + " = " + (is_in_words(input) ? "element(" + x + ", k);" : loaded(input) + "(" + x + (is_steady(input) ? ");" : ".e[k]);")));
  }
  for (int value : pass.kept) {
    const bool is_own = own_ && std::find(own_->kept.begin(), own_->kept.end(), value) != own_->kept.end();
    line("          const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = keep" + number(value) + "[u][k]" + (is_own ? " * scale" + number(own_->maximum) + (several() ? "[k];" : ";") : ";"));
  }
  for (int join : pass.prefixes) {
    const std::string m = "m" + number(spec_.accumulator_of(join)) + "[u]";
    line("          const " + value_type(steps_.dtype(join)) + " v" + number(join) + " = " + prefix_value(join, m + "[k]", m + "[k > 0 ? k - 1 : 0]") + ";");
  }
  for (int value : pass.steps) {
    const std::string at = rows() ? "at + k" : "at";
    const int compared = compared_with_place(value);
    std::string text;
    if (spec_.step_of(value).is_place) text = value_type(steps_.dtype(value)) + "(" + (backward_ ? "a.length - 1 - (" + at + ")" : at) + ")";
    else if (compared < 0) text = call(value);
    else text = sought ? "is_place(" + at + ", " + steps_.value_text(compared, names) + ")" : "false";
    line("          const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = " + text + ";");
  }
  for (int value : pass.keeps) line("          keep" + number(value) + "[u][k] = v" + number(value) + ";");
  for (int join : row_joins(pass)) emit_join(join, joins);
  for (int join : prefix_joins(pass)) emit_appended_prefix(join);
  for (int join : pass.across) line("          h" + number(join) + ".e[k] = " + steps_.appended(join, "h" + number(join) + ".e[k]", names) + ";");
  for (int output : pass.stores) line("          y" + number(output) + ".e[k] = " + steps_.stored(output, names) + ";");
  line("        }");
}

/// What a pass does with the vector at `at`: `u` numbers the thread's vectors.
void CudaReducingEmitter::emit_vector(const Passes::Pass& pass) {
  const std::string width = number(layout_.vector);
  for (int output : pass.stores) line("        Vec<" + stored(spec_.input_count() + output) + ", " + width + "> y" + number(output) + ";");
  for (int join : pass.across) line("        Vec<Joined" + number(join) + ", " + width + "> h" + number(join) + " = " + held(join, "slot") + ";");
  std::string holds;
  for (int value : sought_by(pass)) holds += (holds.empty() ? "" : " || ") + ("holds<" + width + ">(at, ") + steps_.value_text(value, [this](int input) { return name(input); }) + ")";
  if (!holds.empty()) line("        if (" + holds + ") {");
  emit_elements(pass, true);
  if (!holds.empty()) {
    line("        } else {");
    emit_elements(pass, false);
    line("        }");
  }
  for (int join : pass.across) line("        " + hold(join, "slot", "h" + number(join)));
  for (int output : pass.stores) emit_store(output);
}

void CudaReducingEmitter::emit_store(int output) {
  const int i = spec_.input_count() + output;
  const bool anywhere = rows() && layout_.ends == Ends::kAnywhere;
  const std::string n = number(i), y = "y" + number(output), width = number(layout_.vector);
  const std::string asks = asks_elements() ? "if (" + inside("at + k >= begin", "at + k < end") + ") " : "";
  const std::string elements = "#pragma unroll\n        for (int k = 0; k < " + width + "; ++k) " + asks + (spec_.is_guarded(output) ? "{ " : "") + "*(" + address(i, true) + ") = " + y + ".e[k];" + look(output, y + ".e[k]") + (spec_.is_guarded(output) ? " }" : "");
  if (!is_together(i)) {
    line(elements);
    return;
  }
  const std::string whole = turns() ? address(i, false) + " - " + number(layout_.vector - 1) + ", turned(" + y + "));" : address(i, false) + ", " + y + ");";
  const std::string vector = (is_in_run(i) ? "put<" : "store<") + width + ">(" + whole + (spec_.is_guarded(output) ? look(output, y) : "");
  if (!anywhere) line("        " + vector);
  else line("        if (whole" + n + (is_full_ ? "" : " && " + inside("at >= begin", "at + " + width + " <= end")) + ") { " + vector + " } else {\n" + elements + "\n        }");
}

/// A row's value into an output.
std::string CudaReducingEmitter::storing(int output, const std::string& target) const {
  const std::string value = steps_.stored(output, [this](int value) { return name(value); });
  if (!spec_.is_guarded(output)) return target + " = " + value + ";";
  return "{ const " + stored(spec_.input_count() + output) + " y = " + value + "; " + target + " = y;" + look(output, "y") + " }";
}

/// Whether a join adds floats, -0 to which changes nothing.
bool CudaReducingEmitter::adds_floats(int join) const {
  const Step& step = spec_.step_of(join);
  return !step.row && step.join->accumulator.empty() && step.join->members.empty() && is_floating(step.compute) && step.join->reduce == "a + b" && step.join->neutral == "0";
}

/// The letter's accumulators of each element of a vector. Sums of a row that is whole begin with -0, what comes of which the compiler knows: 0 and -0 are 0, so that 0 would have to be added. They are
/// added to a sum that begins with 0.
void CudaReducingEmitter::declare_accumulators(const std::string& letter, int join, const std::string& indent) {
  const std::string n = number(join), width = number(layout_.vector), sign = letter == "m" && layout_.whole && layout_.cluster == 1 && adds_floats(join) ? "-" : "";
  line(indent + "Joined" + n + " " + letter + n + "[" + width + "];\n#pragma unroll\n" + indent + "for (int k = 0; k < " + width + "; ++k) " + letter + n + "[k] = " + sign + "neutral" + n + "();");
}

/// Arrays that a pass reads and that nobody has read before it.
std::vector<int> CudaReducingEmitter::read_by(const Passes::Pass& pass, bool late_alone) const {
  std::vector<int> inputs;
  for (int input : pass.inputs) {
    if (is_read(input) && (!late_alone || is_late(input))) inputs.push_back(input);
  }
  return inputs;
}

/// What a pass does with the vectors that a thread reads at a time, of which the first is at `tile`.
void CudaReducingEmitter::emit_tile(const Passes::Pass& pass) {
  const std::vector<int> inputs = read_by(pass, false);
  const std::string at = "tile + u * " + number(step());
  std::vector<int> moved = inputs;
  for (int output : pass.stores) moved.push_back(spec_.input_count() + output);
  emit_bases(moved, "tile");
  declare_vectors(inputs);
  emit_loads(inputs, at);
  declare_groups(pass);
  line("#pragma unroll\n      for (int u = 0; u < " + number(layout_.items) + "; ++u) {\n        const place at = " + at + ";");
  if (is_guarded()) line("        if (!(" + inside("", "at < end") + ")) continue;");
  emit_vector(pass);
  line("      }");
  emit_groups(pass);
}

void CudaReducingEmitter::emit_pass(const Passes::Pass& pass) {
  const std::string items = number(layout_.items), width = number(layout_.vector), along = rows() ? " * " + width : "";
  const std::vector<int> row_joins = this->row_joins(pass);
  const auto fold = [&](const std::string& indent) {
    for (int join : row_joins) {
      const std::string n = number(join), k = several() ? "[k]" : "";
      line("#pragma unroll\n" + indent + "for (int k = 0; k < " + width + "; ++k) j" + n + k + " = reduce" + n + "(j" + n + k + ", m" + n + "[k]);");
    }
  };
  for (int join : row_joins) {
    if (several()) declare_accumulators("j", join, "  ");
    else line("  Joined" + number(join) + " j" + number(join) + " = neutral" + number(join) + "();");
  }
  emit_divisors(pass);
  if (layout_.whole) {
    const std::vector<int> late = read_by(pass, true);
    for (int value : pass.keeps) line("  " + value_type(steps_.dtype(value)) + " keep" + number(value) + "[" + items + "][" + width + "];");
    for (int join : prefix_joins(pass)) line("  Joined" + number(join) + " m" + number(join) + "[" + items + "][" + width + "]" + (is_guarded() ? " = {};" : ";"));
    line("  {");
    declare_vectors(late);
    for (int join : row_joins) declare_accumulators("m", join, "    ");
    line("#pragma unroll\n      for (int u = 0; u < " + items + "; ++u) {\n        const place at = first + u * " + number(step()) + ";");
    if (is_guarded()) line("        if (!(" + inside("", "at < end") + ")) continue;");
    for (int i : late) emit_load(i);  // one after another: all at once would take as many registers as the row
    emit_vector(pass);
    line("      }");
    fold("    ");
    line("  }");
    return;
  }
  const std::string tile = number(step() * layout_.items), many = "place(" + number(step() * vectors_of_a_sum(layout_)) + ")";
  line("  for (place tiles = first - lane" + along + "; tiles < end; tiles += " + many + ") {");
  line("    const place stop = tiles + " + many + " < end ? tiles + " + many + " : end;");
  for (int join : pass.joins) declare_accumulators("m", join, "    ");
  line("    for (place tile = tiles + lane" + along + "; tile < stop; tile += " + tile + ") {");
  emit_tiles(pass);
  line("    }");
  fold("    ");
  line("  }");
}

void CudaReducingEmitter::emit_row_values(const std::vector<int>& given, const std::vector<int>& steps) {
  const auto emit = [&](int value, const std::string& text) {
    const std::string type = value_type(steps_.dtype(value)), v = "v" + number(value);
    if (several()) line("  " + type + " " + v + "[" + number(layout_.vector) + "];\n" + unrolled("  ", v + "[k] = " + text + ";"));
    else line("  const " + type + " " + v + " = " + text + ";");
  };
  const auto names = [this](int input) { return name(input); };
  for (int join : given) {
    if (is_prefix(join)) continue;  // a value of each element
    const std::string j = "j" + number(spec_.accumulator_of(join)) + (several() ? "[k]" : "");
    emit(join, is_over_count(join) ? "over(" + j + ", count)" : steps_.post(join, j, "a.length"));
  }
  for (int value : steps) {
    if (spec_.step_of(value).is_at_place) emit_sought_element(value);
    else emit(value, is_over_count(value) ? "over(" + steps_.value_text(spec_.step_of(value).inputs[0], names) + ", count)" : steps_.call(value, names));
  }
}

void CudaReducingEmitter::emit_row_stores() {
  const std::string first = layout_.cluster > 1 ? "part == 0 && lane == 0" : "lane == 0";
  for (int output : passes_.row_stores()) {
    const int i = spec_.input_count() + output;
    line("  if (" + first + " && own < " + end_of_rows() + ") {\n" + unrolled("    ", storing(output, "r" + number(i) + "[0" + across(i) + "]")) + "\n  }");
  }
}

void CudaReducingEmitter::emit_main() {
  begin(entry_name(spec_));
  if (layout_.cluster > 1) line("  const int part = blockIdx.x % " + number(layout_.cluster) + ";");
  if (divides_by_count()) line("  const Count count = count_of(float(a.length));");
  if (!across_.empty()) emit_held_across();
  else if (stays()) emit_stay();
  else if (has_runs()) emit_run();
  line("  const i64 chunk = " + std::string(across_.empty() && !stays() && !has_runs() ? "blockIdx.y;" : "0;"));
  line("  const place begin = place(chunk * a.chunk), to = place(chunk * a.chunk + a.chunk < a.length ? chunk * a.chunk + a.chunk : a.length), end = " +
       std::string(layout_.ends == Ends::kTiles ? "to;" : "own < " + end_of_rows() + " ? to : begin;"));
  emit_row_start();
  if (shifts()) emit_shift(parameters());
  if (layout_.cluster > 1 && !stays()) line("  arrive();");  // a block can be given something once it is there
  // A tile's rows lie far apart, so that each block of a cluster has a stretch of them: of all it would look at every page of memory.
  const std::string lane = spec_.scans() ? scanning_lane() : layout_.cluster > 1 ? "(part * " + number(layout_.lanes * (layout_.beside > 0 ? layout_.items : 1)) + " + lane)"
                                                                                 : "lane";
  line("  const place first = begin + " + lane + (rows() ? " * " + number(layout_.vector) : "") + (shifts() ? " - place(shift);" : ";"));
  emit_row_values({}, passes_.first_row_steps());
  if (layout_.whole) {
    std::vector<int> inputs;
    for (int i = 0; i < spec_.input_count(); ++i) {
      if (is_read(i) && !is_late(i) && !is_kept(i)) inputs.push_back(i);
    }
    emit_bases(parameters(), "first");
    declare_vectors(inputs);
    if (stays()) emit_loads_ahead(inputs);
    else emit_loads(inputs, "first + u * " + number(step()));
  }
  emit_sought_loads();
  emit_passes();
  if (layout_.chunked) {
    for (int join : passes_.all()[0].joins) {
      line("  if (lane == 0 && own < a.n) {\n" + unrolled("    ", partial("chunk") + ".j" + number(join) + " = j" + number(join) + (several() ? "[k];" : ";")) + "\n  }");
    }
  } else {
    emit_row_stores();
  }
  if (!across_.empty()) emit_leave_across();
  else if (stays()) emit_leave();
  else if (has_runs()) emit_leave_run();
  line("}");
}

void CudaReducingEmitter::emit_passes() {
  int meeting = 0;
  for (std::size_t i = 0; i < passes_.all().size(); ++i) {
    const Passes::Pass& pass = passes_.all()[i];
    emit_pass(pass);
    if (i == 0 && stays() && across_.empty()) emit_fetch(thread_row((beside() ? "tile + " : "own + ") + number(layout_.ahead) + " * clusters"));  // the row is in registers
    emit_across(row_joins(pass));
    emit_prefixes(pass);
    if (own_ && i == 0) {
      if (beside()) emit_tile_of_block(pass.joins);
      const std::string m = number(own_->maximum);
      const std::string k = several() ? "[k]" : "", of_block = "j" + m + k + " == neutral" + m + "() ? 0.0f : j" + m + k + ";";
      line(several() ? "  float own" + m + "[" + number(values()) + "];\n" + unrolled("  ", "own" + m + "[k] = " + of_block) : "  const float own" + m + " = " + of_block);
      is_own_ = true;
      continue;
    }
    std::vector<int> joins = row_joins(pass);
    if (is_own_) joins.insert(joins.begin(), passes_.all()[0].joins.begin(), passes_.all()[0].joins.end());
    if (!stays()) emit_across_blocks(joins);
    else if (layout_.cluster > 1 && !joins.empty()) beside() ? emit_tile_meeting(meeting++, joins) : emit_meeting(meeting++, joins);
    else if (beside()) emit_tile_of_block(joins);
    if (is_own_) {
      is_own_ = false;
      emit_row_values(passes_.all()[0].given, passes_.all()[0].row_steps);
    }
    if (!layout_.chunked) emit_row_values(pass.given, pass.row_steps);
  }
}

void CudaReducingEmitter::emit_finish() {
  const Layout single = finish_layout(layout_);
  CudaReducingEmitter finish(spec_, single);
  finish.begin(entry_names(spec_, layout_)[1]);
  finish.emit_row_start();
  finish.emit_row_values({}, passes_.first_row_steps());
  const Passes::Pass& pass = passes_.all()[0];
  finish.line("  const i64 chunks = own < a.n ? a.chunks : 0;");  // a count that is known lets several reads be on their way
  for (int join : pass.joins) {
    const std::string n = number(join);
    finish.line("  Joined" + n + " j" + n + " = neutral" + n + "();");
    finish.line("#pragma unroll 8\n  for (i64 k = lane; k < chunks; k += " + number(single.lanes) + ") j" + n + " = reduce" + n + "(j" + n + ", " + finish.partial("k") + ".j" + n + ");");
  }
  finish.emit_across(pass.joins);
  finish.emit_row_values(pass.given, pass.row_steps);
  finish.emit_row_stores();
  finish.line("}");
  text_ += finish.text_;
  users_kernels_ += finish.users_kernels_;
}

}  // namespace damo
