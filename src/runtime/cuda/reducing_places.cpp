// The part of CudaReducingEmitter about elements that a kernel knows by their place: a step compares the element's number along the row with a value of the row, as cross entropy does with the label. No element but
// one is the sought one. There are these forms of text:
//
//   element   a value of the row that is one of its elements (sought_elements.hpp): all threads of the row read it from memory when the row begins, and compute it once what it follows from is known
//   each      threads have so few elements of a row that each is compared
//   vectors   a vector is compared at once; where it may have the sought element its elements are compared, else none of them is
//
// Tried and not kept: to take every element as one that is not sought, and to make the sought one's vector again behind the loop, 283 and 220 us where a branch a vector takes 279 and 211 (cross entropy with its gradient,
// 50,257 columns, float32 and bfloat16; docs/performance.md). See tests/function/sought_elements_test.cpp, which GPUs and emulated ones run.
#include <algorithm>
#include <set>
#include <string>

#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/kernel/sought_elements.hpp"

namespace damo {
namespace {

constexpr int kFewElements = 4;  // of a row, that a thread has: to compare each takes less than a branch, and compiles sooner

}  // namespace

/// The row's value that a step compares with the element's place, of which 32 bits say all: a label, say, with each class. -1 of all other steps.
int CudaReducingEmitter::compared_with_place(int value) const {
  const int compared = layout_.wide || backward_ ? -1 : damo::compared_with_place(spec_, value);
  return compared < 0 || passes_.is_element(compared) ? -1 : compared;
}

bool CudaReducingEmitter::compares_place() const {
  for (int value = spec_.first_step(); value < spec_.first_step() + static_cast<int>(spec_.steps.size()); ++value) {
    if (spec_.step_of(value).is_at_place || compared_with_place(value) >= 0) return true;
  }
  return false;
}

/// The row's values with which a pass compares the places of vectors. Threads that have whole rows would go both ways, and their places are numbers that the compiler knows.
std::set<int> CudaReducingEmitter::sought_by(const Passes::Pass& pass) const {
  std::set<int> sought;
  if (!rows() || layout_.vector == 1 || has_runs() || (layout_.whole && layout_.items * layout_.vector <= kFewElements)) return sought;
  for (int value : pass.steps) {
    if (const int compared = compared_with_place(value); compared >= 0) sought.insert(compared);
  }
  return sought;
}

/// Element values, and arrays, of which one element gives the row's value, in order.
std::vector<int> CudaReducingEmitter::made_of_element(int value) const {
  std::set<int> wanted{spec_.step_of(value).inputs[0]};
  for (int each = value; each >= spec_.first_step(); --each) {
    if (!wanted.contains(each)) continue;
    for (int input : spec_.step_of(each).inputs) {
      if (passes_.is_element(input)) wanted.insert(input);
    }
  }
  return {wanted.begin(), wanted.end()};
}

/// at7, has7, e7_0, ...: the sought element's place, whether the row has it, and what the arrays have there.
void CudaReducingEmitter::emit_sought_load(int value) {
  const auto declare = [this](const std::string& type, const std::string& own, const std::string& text) {
    if (several()) line("  " + type + " " + own + "[" + number(layout_.vector) + "];\n" + unrolled("  ", own + "[k] = " + text + ";"));
    else line("  const " + type + " " + own + " = " + text + ";");
  };
  const std::string n = number(value), k = several() ? "[k]" : "", at = "at" + n + k, has = "has" + n + k;
  declare("place", "at" + n, "place_of(" + steps_.value_text(spec_.step_of(value).inputs[1], [this](int input) { return name(input); }) + ")");
  declare("bool", "has" + n, at + " >= 0 && i64(" + at + ") < a.length");
  for (int i : made_of_element(value)) {
    if (i >= spec_.input_count() || !is_read(i)) continue;
    const std::string place = "r" + number(i) + (!moves(i) ? "" : rows() ? " + along" + number(i) + "(a, " + at + ")"
                                                                         : " + " + element_offset(i, at)) +
                              across(i);
    declare(loaded(i), "e" + n + "_" + number(i), has + " ? " + loaded(i) + "(*(" + place + ")) : " + loaded(i) + "(0)");
  }
}

/// What elements of the row values will follow from that are known later: nobody has written to the row by now. Behind what else is read of it, which need not wait until it is known which element is sought.
void CudaReducingEmitter::emit_sought_loads() {
  for (int value = spec_.first_step(); value < spec_.first_step() + static_cast<int>(spec_.steps.size()); ++value) {
    if (spec_.step_of(value).is_at_place && passes_.known(value) > 0) emit_sought_load(value);
  }
}

/// The row's value: the sum of 0 and its element, or of no element.
void CudaReducingEmitter::emit_sought_element(int value) {
  if (passes_.known(value) == 0) emit_sought_load(value);
  const Step& step = spec_.step_of(value);
  const std::string n = number(value), k = several() ? "[k]" : "", compute = value_type(step.compute), result = value_type(step.result);
  line("  " + result + " v" + n + (several() ? "[" + number(layout_.vector) + "]" : "") + ";");
  std::string text = "{\n";
  for (int each : made_of_element(value)) {
    if (each < spec_.input_count() && !is_read(each)) continue;
    const std::string own = each < spec_.input_count() ? "e" + n + "_" + number(each) + k : spec_.step_of(each).is_place ? value_type(steps_.dtype(each)) + "(at" + n + k + ")" : steps_.call(each, [this](int input) { return name(input); });
    text += "    const " + value_type(steps_.dtype(each)) + " v" + number(each) + " = " + own + ";\n";
  }
  const std::string element = steps_.value_text(step.inputs[0], [this](int input) { return name(input); });
  line(unrolled("  ", text + "    v" + n + k + " = " + result + "(" + compute + "(0) + (has" + n + k + " ? " + compute + "(" + element + ") : " + compute + "(0)));\n  }"));
}

}  // namespace damo
