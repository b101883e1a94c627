#include "runtime/cpu/random_kernels/kernel_values.hpp"

namespace damo::random_kernels {

std::string KernelValues::index_of(const std::string& element) {
  const std::string each = pick({text_of(each_), text_of(each_), std::string("e"), std::string("bounds[1]")});
  if (layout_ == Layout::kSideBySide) {
    const std::string i = one_in(3) ? "unsigned(g)" : "g";
    const unsigned shift = each_ == 8 ? 3 : each_ == 4 ? 2 : each_ == 2 ? 1 : 0;
    switch (below(is_power_of_two(each_) ? 8 : 4)) {
      case 0: return i + " * " + each + " + " + element;
      case 1: return element + " + " + text_of(each_) + " * " + i;
      case 2: return i + " * (sizeof(unsigned[" + std::to_string(each_) + "]) / sizeof(unsigned)) + " + element;
      case 3: return i + " * (" + each + " * 4u) / 4u + " + element;
      case 4: return "(unsigned(g) << " + text_of(shift) + ") + " + element;
      case 5: return "((unsigned(g) << " + text_of(shift) + ") ^ (" + element + "))";
      case 6: return "((" + i + " * " + each + ") | (" + element + "))";
      default: return std::to_string(each_) + " * " + i + " + " + element;
    }
  }
  if (layout_ == Layout::kAcrossGrid) {
    std::string grid = pick({std::string("total"), std::string("gridDim.x * blockDim.x * gridDim.y * blockDim.y * gridDim.z * blockDim.z")});
    if (axes_ == 1 && one_in(2)) grid = "gridDim.x * blockDim.x";
    if (axes_ == 2 && one_in(2)) grid = "(width * (gridDim.y * blockDim.y))";
    return one_in(2) ? "(" + element + ") * " + grid + " + g" : "g + " + grid + " * (" + element + ")";
  }
  return one_in(2) ? "(bid * " + each + " + (" + element + ")) * B + t" : "bid * B * " + text_of(each_) + " + (" + element + ") * B + t";
}

std::pair<std::string, std::vector<Node>> KernelValues::element_below(unsigned limit) {
  if (limit == 1 || one_in(3)) return {text_of(below(limit)), {}};
  for (const Counter& counter : counters_) {
    if (counter.limit <= limit && one_in(2)) return {counter.name, {}};
  }
  if (is_plain_) return {text_of(below(limit)), {}};
  return {is_power_of_two(limit) && one_in(2) ? "($ & " + text_of(limit - 1) + ")" : "($ % " + text_of(limit) + ")", {value(1)}};
}

std::string KernelValues::number_of(const std::string& element) const {
  if (!is_float()) return "unsigned(" + element + ")";
  return is_half() ? "unsigned(int(__half2float(" + element + ")))" : "unsigned(int(" + element + "))";
}

std::string KernelValues::member() {
  if (program_.element == Element::kUint4) return pick({".x", ".y", ".z", ".w"});
  if (program_.element == Element::kUint2) return pick({".x", ".y"});
  return program_.element == Element::kStruct ? ".x" : "";
}

Node KernelValues::place() {
  const bool in_a = one_in(2);
  auto [element, kids] = element_below(in_a ? each_ : b_limit_);
  std::string text = index_of(element);
  if (is_vector() && one_in(4)) {
    const unsigned parts = program_.element == Element::kUint2 ? 2 : 4;
    const std::string in_words = in_a ? "words[" : "((unsigned*)b)[";
    return fixed(in_words + "(" + text + ") * (sizeof(ELEMENT) / sizeof(unsigned)) + " + text_of(below(parts)) + "]", std::move(kids));
  }
  const std::string array = in_a ? pick({"a", "a", "p"}) : pick({"b", "b", program_.element == Element::kHalf ? "b" : "va"});
  return fixed(array + "[" + text + "]" + member(), std::move(kids));
}

Node KernelValues::element_value() {
  return expression(number_of("$"), {place()});
}

Node KernelValues::same(unsigned depth) {
  if (depth == 0 || one_in(2)) {
    std::vector<std::string> leaves = {"u0", "u1", "n", "e", "unsigned(bid)", "bounds[" + std::to_string(3 + below(8)) + "]", number(), "blockIdx.x", "blockDim.x"};
    for (const Counter& counter : same_counters_) leaves.push_back("unsigned(" + counter.name + ")");
    return expression(leaves[below(static_cast<unsigned>(leaves.size()))]);
  }
  if (one_in(4)) return expression("c[$ & 255u]", {same(depth - 1)});
  return expression(choice({"($ + $)", "($ ^ $)", "($ * $)", "($ > $ ? 3u : 4u)"}), {same(depth - 1), same(depth - 1)});
}

Node KernelValues::value(unsigned depth) {
  if (depth == 0 || one_in(is_plain_ ? 2 : 4)) return leaf();
  switch (below(17)) {
    case 0: return expression("($ + $)", {value(depth - 1), value(depth - 1)});
    case 1: return expression("($ - $)", {value(depth - 1), value(depth - 1)});
    case 2: return expression("($ * $)", {value(depth - 1), value(depth - 1)});
    case 3: return expression("($ ^ $)", {value(depth - 1), value(depth - 1)});
    case 4: return expression("($ & $)", {value(depth - 1), value(depth - 1)});
    case 5: return expression("($ << ($ & 7u))", {value(depth - 1), value(depth - 1)});
    case 6: return expression("($ >> ($ & 15u))", {value(depth - 1), value(depth - 1)});
    case 7: return expression("($ / ($ | 1u))", {value(depth - 1), value(depth - 1)});
    case 8: return expression("($ % (($ & 15u) + 1u))", {value(depth - 1), value(depth - 1)});
    case 9: return expression("($ < $ ? $ : $)", {value(depth - 1), value(depth - 1), value(depth - 1), value(depth - 1)});
    case 10: return expression(choice({"min($, $)", "max($, $)", "__umulhi($, $)", "h0($, $)", "h1($, $)"}), {value(depth - 1), value(depth - 1)});
    case 11: return expression(choice({"unsigned(__popc($))", "__brev($)", "unsigned(__clz($))", "~$", "unsigned(-int($ & 255u))", "h2<3>($)", "h2<8>($)"}),
                               {value(depth - 1)});
    case 12: return expression("r0($ & 3u, $)", {value(depth - 1), value(depth - 1)});
    case 13: return expression("c[$ & 255u]", {value(depth - 1)});
    case 14: return expression("mine[$ & 3u]", {value(depth - 1)});
    default: return element_value();
  }
}

Node KernelValues::tiny_leaf() {
  if (!counters_.empty() && one_in(2)) {
    const Counter& counter = counters_[below(static_cast<unsigned>(counters_.size()))];
    const std::string& k = counter.name;
    if (counter.limit > 8) return expression("unsigned(" + k + ")");
    return expression(pick({"unsigned(" + k + ")", "c[" + k + " * total + g]", "c[g * 8 + " + k + "]"}));
  }
  if (one_in(2)) return element_value();
  return expression(choice({"v0", "v1", "c[g]", "5u", "bounds[4]"}));
}

Node KernelValues::leaf() {
  if (is_tiny_) return tiny_leaf();
  if (has_barriers_ && one_in(8)) return expression("s[t]");
  if (readable_ && one_in(3)) return expression("s[$ % " + threads() + "]", {value(1)});
  if (!counters_.empty() && one_in(3)) {
    const Counter& counter = counters_[below(static_cast<unsigned>(counters_.size()))];
    if (counter.limit <= 8 && one_in(3)) return expression(one_in(2) ? "c[" + counter.name + " * total + g]" : "c[g * 8 + " + counter.name + "]");
    return expression("unsigned(" + counter.name + ")");
  }
  if (one_in(4)) return element_value();
  if (one_in(4)) return same(0);
  return expression(choice({"v0", "v1", "v2", "v3", "unsigned(t)", "unsigned(g)", "unsigned(q0 >> 7)", "unsigned(i0)", "unsigned(i0 >> 3)", "unsigned(int(f0))",
                            "unsigned(int(d0))", "unsigned(y0)", "w0.x", "w0.z", "threadIdx.x", "threadIdx.y", "c[g]", "given.x",
                            "given.words[2]"}));
}

Values KernelValues::values() {
  return {random_, [this](unsigned depth) { return value(depth); }, [this](unsigned depth) { return same(depth); }};
}

}  // namespace damo::random_kernels
