// The part of CpuEmitter that writes long kernels; see segments.hpp.
#include <unordered_map>

#include "runtime/cpu/emitter.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {
/// A function `run` over `size` elements. Parameters: the flag of guarded outputs, the numbers, then for each input and output of the segment a pointer to
/// its first element, with a stride where elements do not lie side by side, or the one element that all are.
std::string CpuEmitter::segment_function(const CpuSegment& segment) const {
  const KernelSpec& spec = segment.spec;
  const CpuGuardText guard(spec);
  std::string parameters = spec.has_guards() ? "i64 size, u32* flag" : "i64 size";
  if (!spec.numbers.empty()) parameters += ", const Numbers numbers";
  std::vector<std::string> elements;
  const auto array = [&](int i, Access how) {
    const std::string n = number(static_cast<std::size_t>(i));
    const std::string type = spec.is_ordinals(i) ? "const Ordinals p" + n : std::string(spec.is_output(i) ? "" : "const ") + storage_type(spec.parameter_dtype(i)) + "* __restrict p" + n;
    parameters += ", " + type + (how == Access::kStrided ? ", i64 s" + n : "");
    elements.push_back("p" + n + (how == Access::kStrided ? "[k * s" + n + "]" : is_scalar(how) || how == Access::kRepeat ? "[0]" : "[k]"));
    if (!spec.is_output(i)) elements.back() = value_type(spec.parameter_dtype(i)) + "(" + elements.back() + ")";
  };
  const auto inputs = static_cast<int>(segment.arrays.size());
  for (int i = 0; i < inputs; ++i) {
    const int parameter = segment.arrays[static_cast<std::size_t>(i)];
    if (is_scalar_input(parameter) || is_hoisted(parameter)) {
      elements.push_back("x" + number(static_cast<std::size_t>(i)));
      parameters += ", const " + loaded(parameter) + " " + elements.back();
    } else {
      array(i, access(parameter));
    }
  }
  const int kept = spec.input_count() + static_cast<int>(segment.keeps.size());
  for (int i = inputs; i < kept; ++i) array(i, Access::kDense);
  for (int i = kept; i < spec.parameter_count(); ++i) array(i, access(segment.stores[static_cast<std::size_t>(i - kept)]));
  // A guarded output's element is a variable before it is stored.
  const auto output = [&](int i) { return i - spec.input_count(); };
  std::string before, behind;
  for (int i = spec.input_count(); i < spec.parameter_count(); ++i) {
    if (!spec.is_guarded(output(i))) continue;
    const std::string y = "y" + number(static_cast<std::size_t>(i));
    before += storage_type(spec.parameter_dtype(i)) + " " + y + "; ";
    behind += " " + elements[static_cast<std::size_t>(i)] + " = " + y + ";" + guard.take(output(i), y);
    elements[static_cast<std::size_t>(i)] = y;
  }
  return number_struct(spec) + step_functions(spec) + "static __attribute__((noinline)) void run(" + parameters + ") {\n" + guard.declarations() + "\n" +
         "#pragma clang loop vectorize(enable) interleave_count(2)\n  for (i64 k = 0; k < size; ++k) { " + before +
         body_call(spec, [&](int i) { return elements[static_cast<std::size_t>(i)]; }) + behind + " }\n" + guard.tell("flag") + "\n}\n";
}

/// Equal segments share one.
void CpuEmitter::emit_segment_functions() {
  std::unordered_map<std::string, std::string> names;
  for (const CpuSegment& segment : segments_.segments) {
    std::string text = segment_function(segment);
    const auto [found, is_new] = names.try_emplace(text, "segment" + number(names.size()));
    if (is_new) text_ += "namespace " + found->second + " {\n" + text + "}\n";
    segment_names_.push_back(found->second);
  }
}

/// A strip of elements goes through one segment after the other.
void CpuEmitter::emit_segments(const std::string& indent, const std::string& count) {
  const std::string length = number(static_cast<std::size_t>(segments_.strip));
  for (std::size_t i = 0; i < segments_.strips.size(); ++i) {
    line(indent + "alignas(64) " + storage_type(segments_.strips[i]) + " strip" + number(i) + "[" + length + "];");
  }
  line(indent + "for (i64 done = 0; done < " + count + "; done += " + length + ") {");
  line(indent + "  const i64 left = " + count + " - done, size = left < " + length + " ? left : " + length + ";");
  const auto array = [&](int parameter) {
    const std::string n = number(static_cast<std::size_t>(parameter));
    if (is_scalar_input(parameter) || is_hoisted(parameter)) return "x" + n;
    if (is_scalar(access(parameter)) || access(parameter) == Access::kRepeat) return "r" + n;
    if (access(parameter) != Access::kStrided) return "r" + n + " + done";
    const std::string stride = "a.s" + n + "[" + number(static_cast<std::size_t>(layout_.rank - 1)) + "]";
    return "r" + n + " + done * " + stride + ", " + stride;
  };
  for (std::size_t i = 0; i < segments_.segments.size(); ++i) {
    const CpuSegment& segment = segments_.segments[i];
    std::string arguments = segment.spec.has_guards() ? "size, a.flag" : "size", numbers;
    for (int at : segment.numbers) numbers += (numbers.empty() ? "numbers.n" : ", numbers.n") + number(static_cast<std::size_t>(at));
    if (!numbers.empty()) arguments += ", {" + numbers + "}";
    for (int parameter : segment.arrays) arguments += ", " + array(parameter);
    for (int strip : segment.reads) arguments += ", strip" + number(static_cast<std::size_t>(strip));
    for (int strip : segment.keeps) arguments += ", strip" + number(static_cast<std::size_t>(strip));
    for (int parameter : segment.stores) arguments += ", " + array(parameter);
    line(indent + "  " + segment_names_[i] + "::run(" + arguments + ");");
  }
  line(indent + "}");
}

}  // namespace damo
