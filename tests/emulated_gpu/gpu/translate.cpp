#include "emulated_gpu/gpu/translate.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

namespace damo::emulated_gpu {
namespace {

/// By how an instruction begins; what stands first goes first.
struct Instruction {
  std::string_view begin, function;
};
constexpr Instruction kInstructions[] = {{"max.NaN.f32", "max_nan"},
                                         {"min.NaN.f32", "min_nan"},
                                         {"ex2.approx.ftz.f32", "exp2_flushed"},
                                         {"rcp.approx.ftz.f32", "reciprocal_flushed"},
                                         {"lg2.approx.f32", "log2_near"},
                                         {"cvt.rn.f16.f32", "to_half"},
                                         {"cvt.f32.f16", "from_half"},
                                         {"cvt.rn.bf16.f32", "to_brain"},
                                         {"cvt.rn.bf16x2.f32", "to_brains"},
                                         {"cvt.rn.f16x2.f32", "to_halves"},
                                         {"{ .reg .pred near;", "near_or_far"},
                                         {"lop3.b32 %0, %1, %2, %3, 0x96;", "xor_of_three"},
                                         {"ld.global.L1::no_allocate.v4.b32", "load_words"},
                                         {"st.global.cs.v4.b32", "store_words"},
                                         {"cp.async.cg.shared.global [%0], [%1], 16;", "copy_16"},
                                         {"cp.async.cg.shared.global [%0], [%1], 16, %2", "copy_16_of"},
                                         {"cp.async.ca.shared.global [%0], [%1], %2;", "copy"},
                                         {"cp.async.ca.shared.global [%0], [%1], 4, %2", "copy_4_of"},
                                         {"cp.async.commit_group", "nothing"},
                                         {"cp.async.wait_group", "nothing"},
                                         {"cp.async.wait_all", "nothing"},
                                         {"cp.async.bulk.prefetch.L2.global", "nothing"},
                                         {"griddepcontrol.wait", "nothing"},
                                         {"barrier.cluster.arrive", "cluster_arrive"},
                                         {"barrier.cluster.wait", "cluster_wait"},
                                         {"mapa.shared::cluster.u32", "map"},
                                         {"st.shared::cluster.u32", "store_there"},
                                         {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32", "send_two"},
                                         {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32", "send_one"},
                                         {"mbarrier.init.shared::cta.b64 [%0], 1;", "open_meeting"},
                                         {"fence.mbarrier_init.release.cluster", "nothing"},
                                         {"mbarrier.arrive.expect_tx.shared::cta.b64 _", "expect_bytes"},
                                         {"{\\n.reg .pred p;\\nagain:\\nmbarrier.try_wait.parity.acquire.cluster", "meet"},
                                         {"ldmatrix.sync.aligned.m8n8.x4.shared", "load_matrices"},
                                         {"ldmatrix.sync.aligned.m8n8.x4.trans.shared", "load_matrices_turned"},
                                         {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "multiply_brains"},
                                         {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "multiply_halves"}};

bool is_word(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

/// Behind the literal that begins at a quote.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
  return at + 1;
}

/// Behind the bracket that closes the one at a place.
std::size_t end_of_brackets(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      at = end_of_literal(text, at);
      continue;
    }
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    ++at;
    if (depth == 0) break;
  }
  return at;
}

/// The texts between colons that stand in no bracket and no literal.
std::vector<std::string_view> parts_of(std::string_view statement) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= statement.size();) {
    if (at == statement.size() || statement[at] == ':') {
      parts.push_back(statement.substr(begin, at - begin));
      begin = ++at;
    } else if (statement[at] == '"') {
      at = end_of_literal(statement, at);
    } else {
      at = statement[at] == '(' ? end_of_brackets(statement, at) : at + 1;
    }
  }
  return parts;
}

std::string literal_of(std::string_view part) {
  std::string text;
  for (std::size_t at = part.find('"'); at < part.size(); at = part.find('"', at)) {
    const std::size_t end = end_of_literal(part, at);
    text += part.substr(at + 1, end - at - 2);
    at = end;
  }
  return text;
}

/// What stands in the brackets behind each constraint.
void add_operands(std::vector<std::string>& operands, std::string_view part) {
  for (std::size_t at = part.find('"'); at < part.size(); at = part.find('"', at)) {
    const std::size_t open = part.find('(', end_of_literal(part, at));
    if (open == part.npos) break;
    const std::size_t end = end_of_brackets(part, open);
    operands.emplace_back(part.substr(open + 1, end - open - 2));
    at = end;
  }
}

std::string call_of(std::string_view statement) {
  const std::vector<std::string_view> parts = parts_of(statement);
  const std::string code = literal_of(parts[0]);
  if (code.empty()) return "((void)0)";
  std::string function = "not_emulated";
  for (const Instruction& instruction : kInstructions) {
    if (code.starts_with(instruction.begin)) {
      function = instruction.function;
      break;
    }
  }
  std::vector<std::string> operands;
  for (std::size_t i = 1; i < parts.size() && i < 3; ++i) add_operands(operands, parts[i]);
  std::string text = "::ptx::" + function + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i > 0 ? ", " : "") + operands[i];
  return text + ")";
}

/// Of each kernel of a cluster a variable that says how many blocks it has; empty if no generated kernel has one.
std::string cluster_variables(std::string_view text) {
  constexpr std::string_view kDims = "__cluster_dims__(", kBounds = "__launch_bounds__";
  std::string variables;
  for (std::size_t at = text.find(kDims); at != text.npos; at = text.find(kDims, at)) {
    at += kDims.size();
    const std::size_t begin = text.find_first_not_of(' ', end_of_brackets(text, text.find('(', text.find(kBounds, at))));
    const std::string name = "emulated_blocks_of_" + std::string(text.substr(begin, text.find('(', begin) - begin));
    variables += "extern \"C\" __device__ unsigned " + name + ";\n__device__ unsigned " + name + " = " + std::to_string(std::atoi(text.data() + at)) + ";\n";
  }
  return variables;
}

}  // namespace

std::string without_asm(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find("asm"); at < text.size(); at = text.find("asm", at)) {
    const std::size_t word = at;
    at += 3;
    if ((word > 0 && is_word(text[word - 1])) || is_word(text[at])) continue;
    std::size_t open = text.find_first_not_of(" \t\n", at);
    if (text.substr(open, 8) == "volatile") open = text.find_first_not_of(" \t\n", open + 8);
    if (open == text.npos || text[open] != '(') continue;
    at = end_of_brackets(text, open);
    result.append(text, done, word - done);
    result += call_of(text.substr(open + 1, at - open - 2));
    done = at;
  }
  return result.append(text.substr(done));
}

std::string as_cpu_cuda_c(std::string_view text, int architecture) {
  std::string head = "#undef __CUDA_ARCH__\n#define __CUDA_ARCH__ " + std::to_string(architecture * 10) + "\n";
  const bool is_generated = text.find("namespace damo {\n#line 1 \"") != text.npos;
  if (!is_generated) text.remove_prefix(std::min(text.find("#line 1 \""), text.size()));
  const std::string code = without_asm(text);
  if (const std::string clusters = is_generated ? cluster_variables(text) : ""; !clusters.empty()) head += clusters + "#define EMULATED_CLUSTERS\n#define __cluster_dims__(...)\n";
  if (is_generated) return head + kPtx + "#define damo damo_on_gpu\n#undef DAMO_MATH\n#undef DAMO_CALLED\n#undef DAMO_MEMBER\n#undef DAMO_EXACT\n" + code;
  return head + (code.find("::ptx::") != code.npos ? kPtx : "") + code;
}

}  // namespace damo::emulated_gpu
