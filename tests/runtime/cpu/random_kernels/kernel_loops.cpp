#include "runtime/cpu/random_kernels/kernel_statements.hpp"

namespace damo::random_kernels {

std::vector<Node> KernelStatements::header_effect(std::string& text) {
  if (!one_in(4)) return {};
  text = is_half() ? "$ += __float2half(1.0f), " : "$ += 1, ";
  return {place()};
}

Node KernelStatements::loop_test(Together inside, unsigned limit, std::string& bound) {
  switch (below(5)) {
    case 0: bound = text_of(1 + below(limit)); return fixed("");
    case 1: bound = "bounds[" + std::to_string(3 + below(limit)) + "]"; return fixed("");
    case 2: bound = is_power_of_two(limit) ? "($ & " + text_of(limit - 1) + ")" : "($ % " + text_of(limit) + ")"; break;
    case 3: if (limit == each_) { bound = pick({"e", "bounds[1]"}); return fixed(""); }
      [[fallthrough]];
    default: bound = "$ % " + text_of(limit + 1);
  }
  return inside == Together::kNobody ? value(1) : condition(inside);
}

Node KernelStatements::way_out(Together inside, bool may_continue) {
  const std::string where = may_continue && one_in(2) ? "continue;" : "break;";
  Node test = inside == Together::kNobody ? value(2) : condition(inside);
  return statement("if ($ % 5u == 2u) " + where, {std::move(test)});
}

Node KernelStatements::counted_loop(unsigned depth, Together inside) {
  const unsigned limit = pick({2u, 3u, 4u, 5u, each_, each_, b_limit_});
  const std::string k = name("k"), type = pick({"unsigned ", "unsigned ", "int "});
  std::string bound;
  Node test = loop_test(inside, limit, bound);
  // "$" of the bound is the test; other bounds have none.
  const bool has_test = bound.find('$') != std::string::npos;
  if (!has_test) test = fixed("");
  else bound = "int(" + bound + ")";
  if (!has_test && type == "int ") bound = "int(" + bound + ")";
  if (has_test && type != "int ") bound = "unsigned(" + bound + ")";
  std::string effect;
  std::vector<Node> kids, effects = header_effect(effect);
  const auto add = [&](Node node) { kids.push_back(std::move(node)); };
  const unsigned kind = below(9);
  const bool counts_beyond = kind == 3 || kind == 6;  // the counter is one ahead within the body
  counters_.push_back({k, counts_beyond ? limit + 1 : limit});
  if (inside == Together::kBlock) same_counters_.push_back(counters_.back());
  Node inner = body(depth, inside);
  if (one_in(3)) inner.kids.insert(inner.kids.begin() + below(static_cast<unsigned>(inner.kids.size()) + 1), way_out(inside, kind != 4 && kind != 7));
  counters_.pop_back();
  if (inside == Together::kBlock) same_counters_.pop_back();
  std::string text;
  switch (kind) {
    case 3:
      text = "{ " + type + k + " = 0;\nwhile (" + effect + k + "++ < " + bound + ") {\n$}\n}";
      break;
    case 4:  // left in the middle
      text = "for (" + type + k + " = 0;; " + effect + "++" + k + ") {\n$if (" + k + " + 1 >= " + bound + ") break;\n$}";
      break;
    case 5: text = "for (" + type + k + " = 0; " + k + " < " + bound + "; " + effect + k + (one_in(2) ? " += 2) {\n$}" : "++) {\n$}"); break;
    case 6:
      text = "{ " + type + k + " = 0;\ndo {\n++" + k + ";\n$} while (" + effect + k + " < " + bound + ");\n}";
      break;
    case 7: text = "for (int " + k + " = " + std::to_string(limit) + "; --" + k + " >= 0;) {\n$if (" + effect + (has_test ? "$ == 3u" : "false") + ") break;\n}"; break;
    case 8: text = "for (unsigned " + k + " = " + bound + "; " + effect + k + "-- > 0u;) {\n$}"; break;
    default: text = "for (" + type + k + " = 0; " + effect + k + " < " + bound + "; ++" + k + ") {\n$}";
  }
  if (kind == 4) {
    counters_.push_back({k, limit});
    Node first = block({store()});
    counters_.pop_back();
    for (Node& node : effects) add(std::move(node));
    add(std::move(first));
    if (has_test) add(std::move(test));
    add(std::move(inner));
  } else if (kind == 7) {
    add(std::move(inner));
    for (Node& node : effects) add(std::move(node));
    if (has_test) add(std::move(test));
  } else if (kind == 6) {
    add(std::move(inner));
    for (Node& node : effects) add(std::move(node));
    if (has_test) add(std::move(test));
  } else if (kind == 5 || kind == 8) {
    if (has_test) add(std::move(test));
    for (Node& node : effects) add(std::move(node));
    add(std::move(inner));
  } else {
    for (Node& node : effects) add(std::move(node));
    if (has_test) add(std::move(test));
    add(std::move(inner));
  }
  return statement(text, std::move(kids));
}

Node KernelStatements::own_elements_loop(unsigned) {
  const std::string j = name("j");
  std::string first, end, step;
  if (layout_ == Layout::kSideBySide) {
    first = "g * " + text_of(each_), end = one_in(2) ? "(unsigned(g) + 1u) * e" : first + " + " + text_of(each_), step = "1";
  } else if (layout_ == Layout::kAcrossGrid) {
    first = "g", end = pick({"bounds[0]", "total * e"}), step = axes_ == 1 ? pick({"gridDim.x * blockDim.x", "blockDim.x * gridDim.x", "total"}) : "total";
  } else {
    first = "bid * B * e + t", end = "(bid + 1u) * B * e", step = "B";
  }
  const std::string type = pick({"unsigned ", "int ", "size_t "}), here = "a[" + j + "]" + member();
  if (type == "int ") end = "int(" + end + ")";
  const std::string change = is_float() ? here + choice({" += ", " = "}) + real("$ & 255u") + ";"
                                        : here + choice({" = ", " += ", " ^= "}) + "PART($);";
  std::string effect;
  std::vector<Node> kids = header_effect(effect);
  const std::string k = name("k"), inner = goes_in_step() ? "for (unsigned " + k + " = 0; " + k + " < " + pick({"e * 9u", "n % 37u", "40u"}) + "; ++" + k + ") v2 = v2 * 5u + c[" + j + " + " + k + "];\n" : "";
  Node store_here = fixed(inner + change, {value(1)}), rest = block({simple()});
  const bool b_fits = b_limit_ == each_;
  if (b_fits && one_in(2)) rest = block({fixed("v1 += " + number_of("b[" + j + "]" + member()) + ";"), simple()});
  const std::string accumulate = "v2 += " + number_of(here) + ";";
  switch (below(6)) {
    case 5:  // from the last to the first
      kids.push_back(block({store_here, rest}));
      return statement("for (int " + j + " = int(" + first + " + " + step + " * " + text_of(each_ - 1) + "); " + effect + j + " >= int(" + first + "); " + j + " -= int(" + step + ")) {\n$}",
                       std::move(kids));
    case 0:
      kids.push_back(block({store_here, rest}));
      return statement("for (" + type + j + " = " + first + "; " + effect + j + " < " + end + "; " + j + " += " + step + ") {\n$}", std::move(kids));
    case 1:
      kids.push_back(block({store_here}));
      kids.push_back(rest);
      return statement("for (" + type + j + " = " + first + ";; " + effect + j + " += " + step + ") {\n$if (" + j + " + " + step + " >= " + end + ") break;\n$}", std::move(kids));
    case 2:
      kids.push_back(value(1));
      kids.push_back(block({store_here, rest}));
      return statement("for (" + type + j + " = " + first + "; " + effect + j + " < " + end + "; " + j + " += " + step + ") {\n" + accumulate +
                           "\nif ($ % 7u == 3u) " + choice({"break", "continue"}) + ";\n$}", std::move(kids));
    case 3:
      kids.push_back(block({store_here, fixed(accumulate)}));
      return statement("{ " + type + j + " = " + first + ";\nwhile (" + effect + j + " < " + end + ") {\n$" + j + " += " + step + ";\n}\n}", std::move(kids));
    default:
      kids.insert(kids.begin(), block({store_here, rest}));
      return statement("{ " + type + j + " = " + first + ";\ndo {\n$" + j + " += " + step + ";\n} while (" + effect + j + " < " + end + ");\n}", std::move(kids));
  }
}

Node KernelStatements::loop_in_step() {
  const std::string k = name("k");
  std::vector<Node> kids;
  std::string end = pick({"$ % 40u", "$ % 40u", "n % 37u", "e * 9u", "33u"});
  if (axes_ == 2 && one_in(3)) end = pick({"threadIdx.y * 7u + 3u", "unsigned(row) % 11u * 4u"});
  if (end.find('$') != std::string::npos) kids.push_back(same(1));
  std::string body = pick({"v2 += c[g + " + k + "];", "v1 = v1 * 3u + c[t + " + k + "] * c[" + k + "];", "f0 = f0 * 0.5f + float(c[g + " + k + "] & 7u);", "v0 ^= c[(" + k + " & 7u) * total + g];",
                           "q0 += c[t + " + k + " * 2u];\nd0 += double(c[" + k + "] & 15u);", "i0 = i0 * 3 + int(c[g + " + k + "]);", "v3 += v2 * " + k + ";", "mine[" + k + " & 3] += c[g + " + k + "];",
                           "y0 += (unsigned char)(c[t + " + k + "]);"});
  if (one_in(3)) body += "\nif (c[g + " + k + "] & 1u) v2 ^= v1 + " + k + ";";
  if (one_in(8)) body = "if (c[" + choice({"", "", "t + "}) + k + "] % 5u == 2u) " + choice({"continue", "break"}) + ";\n" + body;
  if (one_in(4)) {
    body += "\n$";
    kids.push_back(block({one_in(2) ? store() : simple()}));
  }
  const std::string loop = "for (unsigned " + k + " = 0; " + k + " < " + end + "; ++" + k + ") {\n" + body + "\n}", around = name("k");
  if (one_in(4)) return statement("for (unsigned " + around + " = 0; " + around + " < 3u; ++" + around + ") {\nv1 += " + around + ";\n" + loop + "\n}", std::move(kids));
  return statement(loop, std::move(kids));
}

Node KernelStatements::side_by_side_loop() {
  const std::string i = name("j"), type = pick({"unsigned ", "int ", "int ", "size_t ", "long long "});
  const bool writes = layout_ == Layout::kAcrossBlock && !has_left_ && one_in(2);
  std::string begin = pick({"t", "threadIdx.x"}), step = pick({"B", "blockDim.x", "32", "64u", "blockDim.x * gridDim.x", "8"}), end = pick({"100", "$ % 200u", "$ % 200u", "$ % 200u", "(t % 7u) * 20u"});
  if (has_warps_ && one_in(2)) begin = pick({"lane", "threadIdx.x % 32", "t & 31u", "lane & 15u"}), step = pick({"32", "32u", "16"});
  if (one_in(4)) begin += pick({" + ($ & 15u)", " - ($ & 15u)", " - ($ & 15u)"});
  if (one_in(6)) begin = "int(" + begin + ")";
  if (writes) begin = "t", step = "B", end = "$ % (B * e + 1u)";
  const bool is_common = !one_in(8);
  std::vector<Node> kids;
  for (const std::string* text : {&begin, &end}) {
    if (text->find('$') != std::string::npos) kids.push_back(is_common ? same(1) : value(1));
  }
  end = type + "(" + end + ")";
  end.erase(end.find(' '), 1);
  if (type == "long long ") end = "(long long)" + end.substr(end.find('('));
  const std::string test = pick({i + " < " + end, i + " < " + end, end + " > " + i, i + (writes ? " + 1 <= " : " <= ") + end, "(long long)(" + i + ") < (long long)" + end, "size_t(" + i + ") < size_t(" + end + ")"});
  const std::string read = "c[" + i + " + 16]";  // it may begin below 0
  std::string effect;
  if (one_in(8)) {
    for (Node& node : header_effect(effect)) kids.insert(kids.begin() + static_cast<std::ptrdiff_t>(begin.find('$') != std::string::npos), std::move(node));
  }
  std::string body = pick({"v2 += " + read + ";", "v1 = v1 * 3u + " + read + " * unsigned(" + i + ");", "f0 += float(" + read + " & 255u);", "if (" + read + " & 1u) v0 += c[" + i + " + 19] ^ v1;",
                           "q0 ^= " + read + ";\nd0 += double(" + read + " & 15u);", "y0 += (unsigned char)(" + read + ");", "mine[" + i + " & 3] += " + read + ";",
                           "for (unsigned k = 0; k < 3u; ++k) v3 += " + read + " * k;"});
  if (has_barriers_ && readable_ && one_in(2)) body += "\nif (size_t(" + i + ") < live) v2 += s[" + i + "];";
  if (writes) {
    const std::string here = "a[bid * B * e + " + i + "]" + member();
    body = one_in(2) ? "v2 += " + number_of(here) + ";\n" + here + " = PART(v2);" : here + " = PART(c[" + i + " & 255] + v1);";
  }
  if (one_in(8)) body = "if (" + read + " % 5u == 2u) " + choice({"continue", "break"}) + ";\n" + body;
  if (one_in(4)) {
    body += "\n$";
    kids.push_back(block({one_in(2) ? store() : simple()}));
  }
  const std::string head = type + i + " = " + begin + ";";
  if (one_in(6)) return statement("{ " + head + "\nfor (; " + effect + test + "; " + i + " += " + step + ") {\n" + body + "\n}\nv0 += unsigned(" + i + ");\n}", std::move(kids));
  return statement("for (" + head + " " + effect + test + "; " + i + " += " + step + ") {\n" + body + "\n}", std::move(kids));
}

}  // namespace damo::random_kernels
