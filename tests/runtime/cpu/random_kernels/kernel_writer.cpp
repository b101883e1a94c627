#include "runtime/cpu/random_kernels/kernel_writer.hpp"

#include <algorithm>
#include <iterator>
#include <random>

#include "runtime/cpu/random_kernels/constructs.hpp"
#include "runtime/cpu/random_kernels/helper_functions.hpp"

namespace damo::random_kernels {
namespace {

/// Who comes to a statement together.
enum class Together { kBlock, kWarp, kNobody };

/// How the elements of a thread lie in a.
enum class Layout { kSideBySide, kAcrossGrid, kAcrossBlock };

struct Counter {
  std::string name;
  unsigned limit;  ///< it stays below
};

std::string text_of(unsigned number) { return std::to_string(number) + "u"; }
bool is_power_of_two(unsigned value) { return (value & (value - 1)) == 0; }

class KernelWriter {
 public:
  explicit KernelWriter(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) { program_.seed = seed; }

  Program write() {
    choose_launch();
    choose_arrays();
    has_barriers_ = one_in(2);
    has_warps_ = has_barriers_ ? one_in(2) : one_in(4);
    has_locks_ = one_in(6);
    is_volatile_ = one_in(5);
    dynamic_ = one_in(3);
    if (has_barriers_ && dynamic_) program_.launch.shared_bytes = 4;
    is_plain_ = one_in(2);
    is_tiny_ = is_plain_ && one_in(2);
    if (is_tiny_) has_locks_ = has_warps_ = false;
    choose_leavers();
    std::vector<Node> kernel;
    declare(kernel);
    guard(kernel);
    const Together all = has_barriers_ ? Together::kBlock : has_warps_ ? Together::kWarp : Together::kNobody;
    kernel.push_back(statements(is_tiny_ ? 1 + below(2) : 2 + below(is_plain_ ? 2 : 4), 0, all));
    if (one_in(5)) kernel.push_back(statement("if (($ & 7u) == 5u) return;", {value(1)}));  // no barrier comes after it
    if (!is_tiny_ || one_in(2)) kernel.push_back(block({statement("a[" + index_of("0u") + "]" + member() + " = PART(v0 + v1 + v2 + u0);"), statement("atomicAdd(acc, v3);")}));
    std::vector<Node> parts;
    parts.push_back(fixed("struct Pair_@ { unsigned x; unsigned short y, z; };\nstruct Given_@ { unsigned x; unsigned short y, z; unsigned words[4]; float w; };\n"
                          "#define PART(x) " + (is_float() ? real("(x) & " + mask()) : "(x)") + "\n"));
    std::vector<Node> helpers;
    const std::string all_of_kernel = block(kernel).print();
    for (Helper& helper : helper_types()) {
      if (all_of_kernel.find(helper.name) != std::string::npos) parts.push_back(std::move(helper.text));
    }
    parts.push_back(fixed("namespace space_@ {\n"));
    for (Helper& helper : helper_functions(random_)) {
      if (all_of_kernel.find(helper.name) != std::string::npos) helpers.push_back(std::move(helper.text));
    }
    parts.push_back(block(std::move(helpers)));
    const std::string bound = one_in(6) ? "__launch_bounds__(BLOCK_SIZE) " : "";
    parts.push_back(fixed("}\nextern \"C\" __global__ void " + (axes_ == 1 ? bound : "") + "@(ELEMENT* a, ELEMENT* b, const unsigned* c, unsigned* acc, const unsigned* bounds, unsigned n,\n"
                          "                             unsigned total, unsigned e, unsigned live, Given_@ given) {\nusing namespace space_@;\n$}\n", {block(std::move(kernel))}));
    program_.text = fixed(std::string(parts.size(), '$'));
    program_.text.kids = std::move(parts);
    return std::move(program_);
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> choices) { return *(choices.begin() + below(static_cast<unsigned>(choices.size()))); }
  std::string choice(std::initializer_list<const char*> choices) { return pick(choices); }
  std::string number() { return text_of(pick({0u, 1u, 2u, 3u, 5u, 7u, 8u, 17u, 31u, 255u, 4096u, 0x80000000u, ~0u})); }
  std::string name(const char* prefix) { return prefix + std::to_string(names_++); }

  void choose_launch() {
    Launch& launch = program_.launch;
    axes_ = 1 + below(6) / 4 + below(8) / 7;
    if (axes_ == 1) {
      launch.block = {pick({1u, 7u, 31u, 32u, 33u, 64u, 96u, 100u, 128u, 256u}), 1, 1};
      launch.grid = {pick({1u, 2u, 3u, 5u, 8u}), 1, 1};
    } else if (axes_ == 2) {
      launch.block = {pick({1u, 4u, 8u, 16u, 32u}), pick({1u, 2u, 4u, 8u}), 1};
      launch.grid = {pick({1u, 2u, 3u}), pick({1u, 2u, 4u}), 1};
    } else {
      launch.block = {pick({1u, 2u, 8u}), pick({1u, 3u, 4u}), pick({1u, 2u, 5u})};
      launch.grid = {1 + below(2), 1 + below(2), 1 + below(3)};
    }
  }

  void choose_arrays() {
    program_.element = pick({Element::kUnsigned, Element::kUnsigned, Element::kUnsigned, Element::kInt, Element::kFloat, Element::kFloat, Element::kHalf, Element::kLong,
                             Element::kByte, Element::kUint2, Element::kUint4, Element::kStruct});
    program_.each = each_ = pick({1u, 2u, 2u, 3u, 4u, 4u, 8u});
    layout_ = pick({Layout::kSideBySide, Layout::kAcrossGrid, Layout::kAcrossGrid, Layout::kAcrossBlock});
    program_.b_is_blocked = layout_ == Layout::kSideBySide;
    const bool may_shift = each_ > 1 && layout_ != Layout::kAcrossBlock;
    switch (below(3)) {
      case 0: program_.b_each = Program::kOwn; break;
      case 1: program_.b_each = 0; break;
      default: program_.b_each = may_shift ? 1 + below(each_ - 1) : 0;
    }
    b_limit_ = program_.b_each == Program::kOwn ? each_ : each_ - program_.b_each;
  }

  void declare(std::vector<Node>& kernel) {
    const std::string integer = pick({"const unsigned ", "const unsigned ", "const int "});
    const auto line = [&](const std::string& text) { kernel.push_back(fixed(text)); };
    if (axes_ == 1) {
      line(integer + "t = threadIdx.x, B = blockDim.x, bid = blockIdx.x;");
      line(integer + "g = " + choice({"blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x * BLOCK_SIZE + threadIdx.x",
                                      "threadIdx.x + BLOCK_SIZE * blockIdx.x"}) + ";");
    } else if (axes_ == 2) {
      line(integer + "col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, width = gridDim.x * blockDim.x;");
      line("const unsigned t = threadIdx.y * blockDim.x + threadIdx.x, B = blockDim.x * blockDim.y, bid = blockIdx.y * gridDim.x + blockIdx.x;");
      line(integer + "g = row * width + col;");
    } else {
      line("const unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, B = blockDim.x * blockDim.y * blockDim.z;");
      line("const unsigned bid = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;");
      line(integer + "g = bid * B + t;");
    }
    if (has_barriers_) {
      const std::string type = is_volatile_ ? "volatile unsigned" : "unsigned";
      // One statement: without the store a smaller program would read what nobody has written.
      if (dynamic_) line("extern __shared__ " + type + " dynamic_@[];\n" + type + "* const s = dynamic_@;\ns[t] = t;");
      else line("__shared__ " + type + " s[256];\ns[t] = t;");
    }
    if (has_warps_) {
      const std::string others = threads() + " - warp * 32u";
      line("const unsigned lane = t % 32u, warp = t / 32u, lanes = " + others + " < 32u ? " + others + " : 32u;");
      line("const unsigned wm = lanes < 32u ? (1u << lanes) - 1u : ~0u;");
    }
    line("unsigned v0 = g, v1 = n, v2 = 7u, v3 = t * 3u, u0 = e, u1 = bid;");
    for (const char* text : {"float f0 = 1.0f;", "double d0 = 2.0;", "unsigned long long q0 = g;", "int i0 = -5;", "unsigned mine[4] = {1u, 2u, 3u, 4u};",
                             "unsigned char y0 = 200;", "uint4 w0 = {1u, 2u, 3u, 4u};", "ELEMENT* p = a;", "volatile ELEMENT* va = b;"})
      line(text);
    line("auto* words = (unsigned*)a;");
  }

  void choose_leavers() {
    has_left_ = (has_barriers_ || has_warps_) && one_in(4);
    if (has_left_) program_.leaving = below(program_.launch.threads());
  }

  /// Threads that take no part.
  void guard(std::vector<Node>& kernel) {
    if (has_barriers_ || has_warps_) {
      if (!has_left_) return;
      kernel.push_back(fixed("if (t >= live) {\n$return;\n}", {block({statement("a[" + index_of("0u") + "]" + member() + " = PART(v0);")})}));
    } else if (one_in(2)) {
      program_.left_out = below(program_.launch.total() / 2 + 1);
      kernel.push_back(fixed("if (g >= n) return;"));
    }
  }

  // ---- elements ----

  /// The place in a of a thread's element: one of the ways in which programs write it.
  std::string index_of(const std::string& element) {
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

  /// One of the first limit elements, as text with a "$" if there is an expression in it.
  std::pair<std::string, std::vector<Node>> element_below(unsigned limit) {
    if (limit == 1 || one_in(3)) return {text_of(below(limit)), {}};
    for (const Counter& counter : counters_) {
      if (counter.limit <= limit && one_in(2)) return {counter.name, {}};
    }
    if (is_plain_) return {text_of(below(limit)), {}};
    return {is_power_of_two(limit) && one_in(2) ? "($ & " + text_of(limit - 1) + ")" : "($ % " + text_of(limit) + ")", {value(1)}};
  }

  bool is_half() const { return program_.element == Element::kHalf; }
  bool is_float() const { return program_.element == Element::kFloat || is_half(); }
  /// Whole numbers that the element holds exactly are below.
  std::string mask() const { return is_half() ? "1023u" : "65535u"; }
  std::string real(const std::string& number) const { return is_half() ? "__float2half(float(" + number + "))" : "float(" + number + ")"; }
  std::string number_of(const std::string& element) const {
    if (!is_float()) return "unsigned(" + element + ")";
    return is_half() ? "unsigned(int(__half2float(" + element + ")))" : "unsigned(int(" + element + "))";
  }
  bool is_vector() const { return program_.element == Element::kUint2 || program_.element == Element::kUint4; }
  std::string member() {
    if (program_.element == Element::kUint4) return pick({".x", ".y", ".z", ".w"});
    if (program_.element == Element::kUint2) return pick({".x", ".y"});
    return program_.element == Element::kStruct ? ".x" : "";
  }

  /// An element of the thread's own, to read or to write.
  Node place() {
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

  Node element_value() {
    return expression(number_of("$"), {place()});
  }

  // ---- numbers ----

  Node same(unsigned depth) {
    if (depth == 0 || one_in(2)) {
      std::vector<std::string> leaves = {"u0", "u1", "n", "e", "unsigned(bid)", "bounds[" + std::to_string(3 + below(8)) + "]", number(), "blockIdx.x", "blockDim.x"};
      for (const Counter& counter : same_counters_) leaves.push_back("unsigned(" + counter.name + ")");
      return expression(leaves[below(static_cast<unsigned>(leaves.size()))]);
    }
    if (one_in(4)) return expression("c[$ & 255u]", {same(depth - 1)});
    return expression(choice({"($ + $)", "($ ^ $)", "($ * $)", "($ > $ ? 3u : 4u)"}), {same(depth - 1), same(depth - 1)});
  }

  Node value(unsigned depth) {
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

  Node tiny_leaf() {
    if (!counters_.empty() && one_in(2)) {
      const Counter& counter = counters_[below(static_cast<unsigned>(counters_.size()))];
      const std::string& k = counter.name;
      if (counter.limit > 8) return expression("unsigned(" + k + ")");
      return expression(pick({"unsigned(" + k + ")", "c[" + k + " * total + g]", "c[g * 8 + " + k + "]"}));
    }
    if (one_in(2)) return element_value();
    return expression(choice({"v0", "v1", "c[g]", "5u", "bounds[4]"}));
  }

  Node leaf() {
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

  Values values() {
    return {random_, [this](unsigned depth) { return value(depth); }, [this](unsigned depth) { return same(depth); }};
  }

  std::string threads() const { return has_left_ ? "live" : "unsigned(B)"; }

  // ---- statements ----

  Node statements(unsigned count, unsigned depth, Together together) {
    std::vector<Node> all;
    for (unsigned i = 0; i < std::min(count, std::max(left_, 1u)); ++i) all.push_back(any_statement(depth, together));
    return block(std::move(all));
  }

  Node body(unsigned depth, Together together) { return statements(1 + below(is_plain_ ? 2 : 3), depth + 1, together); }

  /// Of a kernel as short as most are: loops over elements, stores, sums.
  Node tiny_statement(unsigned depth, Together together) {
    if (together == Together::kBlock && one_in(3)) return meeting(depth);
    if (depth < 2 && one_in(depth + 1)) return one_in(2) && depth == 0 ? own_elements_loop(depth) : counted_loop(depth, Together::kNobody);
    if (one_in(10)) return own_construct(values());
    return one_in(3) ? statement("v1 " + choice({"+=", "^=", "="}) + " $;", {value(1)}) : store();
  }

  Node any_statement(unsigned depth, Together together) {
    if (left_ == 0) return simple();
    --left_;
    if (is_tiny_) return tiny_statement(depth, together);
    if (together == Together::kBlock && one_in(3)) return meeting(depth);
    if (together != Together::kNobody && has_warps_ && one_in(3)) return warp_operation();
    if (has_locks_ && one_in(4)) return locked();
    if (depth < (is_plain_ ? 2 : 3) && one_in(depth + 2)) return flow(depth, together);
    return simple();
  }

  Node store() {
    if (one_in(6) && (program_.element == Element::kUnsigned || program_.element == Element::kInt)) {
      auto [element, kids] = element_below(each_);
      kids.push_back(value(1));
      return statement("bump(&a[" + index_of(element) + "], $);", std::move(kids));
    }
    if (is_vector() && one_in(3)) {
      auto [to, to_kids] = element_below(each_);
      auto [from, from_kids] = element_below(b_limit_);
      to_kids.insert(to_kids.end(), from_kids.begin(), from_kids.end());
      return statement("a[" + index_of(to) + "] = b[" + index_of(from) + "];", std::move(to_kids));
    }
    if (is_half()) {
      return statement(choice({"$ = __float2half(float($ & 1023u));", "$ += __float2half(float($ & 255u));", "$ = __int2half_rn(int($ & 1023u));"}), {place(), value(2)});
    }
    if (is_float()) return statement(choice({"$ = float($ & 65535u);", "$ += float($ & 255u);", "$ = ($ & 65535u) + 1.0f;"}), {place(), value(2)});
    const std::string operation = choice({"=", "=", "=", "+=", "^=", "-=", "|="});
    return statement("$ " + operation + " PART($);", {place(), value(2)});
  }

  Node simple() {
    switch (below(18)) {
      case 16: case 17: return own_construct(values());
      case 0: return statement(choice({"v0 = $;", "v0 += $;", "v1 = v1 * 5u + $;", "v2 ^= $;", "v3 -= $;"}), {value(2)});
      case 1: return statement("mine[$ & 3u] " + choice({"=", "+=", "^="}) + " $;", {value(1), value(2)});
      case 2: return statement(choice({"f0 += float($ & 255u);", "f0 = fminf(f0, float($ & 1023u));", "d0 += double($ & 255u);", "d0 = float($ & 63u) * 0.5;"}), {value(2)});
      case 3: return statement(choice({"q0 = q0 * 6364136223846793005ull + $;", "q0 ^= (unsigned long long)$ << 20;"}), {value(2)});
      case 4: return statement(choice({"i0 = int(unsigned(i0) * 3u + $);", "i0 /= int($ & 7u) + 1;", "i0 = int($ & 0xffffu) - 30000;", "i0 >>= $ & 3u;"}), {value(1)});
      case 5: return statement(choice({"y0 += (unsigned char)($);", "w0.x = $;", "w0.z += $;", "w0.y ^= w0.x + $;"}), {value(1)});
      case 6: return atomic();
      case 7: if (!readable_ && has_barriers_) return statement("s[t] " + choice({"=", "+=", "^="}) + " $;", {value(2)});
        return store();
      case 8: if (one_in(3)) return statement("if ($ < $) {\n$}", {value(1), value(1), block({store()})});
        return store();
      default: return store();
    }
  }

  Node atomic() {
    const unsigned kind = below(6);
    const char* const names[] = {"atomicAdd", "atomicXor", "atomicOr", "atomicMax", "atomicMin", "atomicAdd"};
    return statement(std::string(names[kind]) + "(&acc[" + text_of(8 * kind) + " + ($ & 7u)], $);", {value(1), value(2)});
  }

  Node locked() {
    // What is added is worked out before: it may stand in volatile shared memory, where a warp's lanes wait for each other.
    const Node added = fixed("const unsigned added = $;", {value(1)});
    // The tickets and the other lock keep their holders apart only from those who took the same: each guards cells of its own.
    const bool has_ticket = one_in(3);
    const auto guarded = [&](unsigned cell) { return text_of((has_ticket ? kGuardedByTicket : kGuarded) + cell); };
    const std::string choices[] = {"acc[" + guarded(0) + "] += added;", "acc[" + guarded(0) + " + (added & 3u)] += 5u;",
                                   "for (unsigned i = 0; i < 3u; ++i) acc[" + guarded(0) + " + i] += added * i + 1u;",
                                   "if (added & 1u) acc[" + guarded(1) + "] += r0(added & 3u, 5u);\nelse acc[" + guarded(2) + "] -= added;",
                                   "switch (added & 3u) {\ncase 0: acc[" + guarded(0) + "] += 3u; break;\ncase 1: acc[" + guarded(1) + "] += added;\ndefault: acc[" + guarded(2) + "] += 7u;\n}",
                                   "unsigned old = acc[" + guarded(1) + "];\nacc[" + guarded(1) + "] = old + added;",
                                   "{ volatile unsigned* guarded = acc + " + guarded(2) + "; *guarded = *guarded + added; }"};
    const Node change = fixed(choices[below(static_cast<unsigned>(std::size(choices)))]);
    if (has_ticket) {
      return statement("{ $\nconst unsigned mine_ = atomicAdd(acc + 65, 1u);\nwhile (atomicAdd(acc + 66, 0u) != mine_) {}\n__threadfence();\n$\n__threadfence();\natomicAdd(acc + 66, 1u); }", {added, change});
    }
    if (one_in(2)) return statement("{ $\nwhile (atomicCAS(acc + 64, 0u, 1u) != 0u);\n__threadfence();\n$\n__threadfence();\natomicExch(acc + 64, 0u); }", {added, change});
    return statement("{ $\nfor (bool done = false; !done;) {\nif (atomicCAS(acc + 64, 0u, 1u) == 0u) {\n__threadfence();\n$\n__threadfence();\natomicExch(acc + 64, 0u);\ndone = true;\n}\n} }", {added, change});
  }

  /// With a condition that those who come together agree on.
  Node condition(Together together) {
    if (together == Together::kBlock) return same(1);
    return one_in(2) ? same(1) : expression(choice({"(warp & 1u)", "(warp * 5u)", "warp"}));
  }

  Node flow(unsigned depth, Together together) {
    // Below a branch or a loop that threads decide for themselves nobody comes together.
    if (together != Together::kNobody && one_in(2)) together = together == Together::kBlock && has_warps_ && one_in(3) ? Together::kWarp : Together::kNobody;
    const Together inside = together;
    switch (below(12)) {
      case 10: {
        const std::string k = name("k"), label = name("again");
        counters_.push_back({k, 3});
        Node inner = body(depth, inside);
        counters_.pop_back();
        return statement("{ unsigned " + k + " = 0;\n" + label + ":\n{\n$}\nif (++" + k + " < 2u + ($ & 1u)) goto " + label + ";\n}",
                         {std::move(inner), inside == Together::kNobody ? value(1) : condition(inside)});
      }
      case 11: {
        const std::string label = name("past");
        Node test = inside == Together::kNobody ? value(2) : condition(inside);
        return statement("{ if ($ & 1u) goto " + label + ";\n{\n$}\n" + label + ":;\n}", {std::move(test), body(depth, inside)});
      }
      case 0: case 1: {
        Node test = inside == Together::kNobody ? value(2) : condition(inside);
        return one_in(2) ? statement("if ($ & 1u) {\n$}", {std::move(test), body(depth, inside)})
                         : statement("if ($ > $) {\n$} else {\n$}", {std::move(test), inside == Together::kNobody ? value(1) : condition(inside), body(depth, inside), body(depth, inside)});
      }
      case 2: {
        Node test = inside == Together::kNobody ? value(2) : condition(inside);
        return statement("switch ($ & 3u) {\ncase 0:\n$break;\ncase 1:\n$default:\n$}", {std::move(test), body(depth, inside), body(depth, inside), body(depth, inside)});
      }
      case 3: if (inside == Together::kNobody) return own_elements_loop(depth);
        return counted_loop(depth, inside);
      case 4: if (inside == Together::kNobody) return one_in(2) ? own_elements_loop(depth) : tail_return(depth);
        return counted_loop(depth, inside);
      default: return counted_loop(depth, inside);
    }
  }

  Node tail_return(unsigned) {
    if (has_barriers_ || has_warps_) return store();  // others would wait, or read lanes that are gone
    return statement("if (($ & 31u) == 3u) {\n$return;\n}", {value(2), block({store()})});
  }

  /// What a header may do beside counting: "a[i] += 1, ".
  std::vector<Node> header_effect(std::string& text) {
    if (!one_in(4)) return {};
    text = is_half() ? "$ += __float2half(1.0f), " : "$ += 1, ";
    return {place()};
  }

  Node loop_test(Together inside, unsigned limit, std::string& bound) {
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

  /// A way out of a loop that those who come together take together, or each for itself where nobody does.
  Node way_out(Together inside, bool may_continue) {
    const std::string where = may_continue && one_in(2) ? "continue;" : "break;";
    Node test = inside == Together::kNobody ? value(2) : condition(inside);
    return statement("if ($ % 5u == 2u) " + where, {std::move(test)});
  }

  Node counted_loop(unsigned depth, Together inside) {
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

  /// Over all elements of the thread by their place: grid-stride loops and their kin.
  Node own_elements_loop(unsigned) {
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
    Node store_here = fixed(change, {value(1)}), rest = block({simple()});
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

  /// The block's threads exchange values.
  Node meeting(unsigned depth) {
    const std::string all = threads();
    switch (below(10)) {
      case 8: case 9: return block_construct(values());
      case 0: return statement("s[t] = $;\n__syncthreads();\n$ += s[(t + $) % " + all + "];\n__syncthreads();", {value(2), fixed(choice({"v0", "v1", "mine[1]"})), same(1)});
      case 1: {  // all read
        readable_ = true;
        Node reads = statements(1 + below(3), depth < 2 ? depth + 1 : depth, Together::kNobody);
        readable_ = false;
        return statement("s[t] = $;\n__syncthreads();\n$__syncthreads();", {value(2), std::move(reads)});
      }
      case 2: {  // one thread, or a few, do something alone
        const std::string k = name("k");
        const std::string work = pick({"for (unsigned " + k + " = 1; " + k + " < " + all + "; ++" + k + ") s[" + k + "] += s[" + k + " - 1];",
                                       "for (unsigned " + k + " = 0; " + k + " < 5u; ++" + k + ") s[(" + k + " * 3u) % " + all + "] ^= $;"});
        std::vector<Node> kids = {same(0)};
        if (work.find('$') != std::string::npos) kids.push_back(value(1));
        return statement("__syncthreads();\nif (t == $ % " + all + ") {\n" + work + "\n}\n__syncthreads();", std::move(kids));
      }
      case 3: return statement("__syncthreads();\nfor (unsigned d = 1; d < " + all + "; d *= 2u) {\nif (t % (2u * d) == 0u && t + d < " + all + ") s[t] += s[t + d];\n__syncthreads();\n}\nv1 += s[0];\n__syncthreads();");
      case 4: return statement("u0 = unsigned(__syncthreads_count(int($ & 1u))) + $;", {value(2), same(1)});
      case 5: return statement(choice({"u1 = unsigned(__syncthreads_or(int($ & 64u)));", "u1 += unsigned(__syncthreads_and(int($ | 1u)));"}), {value(2)});
      case 6: return statement(choice({"u0 = $;", "u1 += $;", "u0 ^= $;"}), {same(2)});
      default: {
        const std::string k = name("k");
        return statement("s[t] = $;\n__syncthreads();\nif (t < 8u) {\nfor (unsigned " + k + " = 0; " + k + " < 5u; ++" + k + ") v2 += s[" + k + " % " + all + "] * $;\n}\n__syncthreads();", {value(2), value(1)});
      }
    }
  }

  /// Of the lanes of wm, or of the first few.
  Node warp_operation() {
    switch (below(16)) {
      case 12: case 13: case 14: case 15: return warp_construct(values());
      case 0: return statement("v0 += __shfl_sync(wm, v1, (lane + $) % lanes);", {value(1)});
      case 1: return statement("v1 ^= __shfl_sync(wm, $, $ % lanes);", {value(2), value(1)});
      case 2: return statement("if (lanes == 32u) v2 += __shfl_" + choice({"xor_sync(wm, v0, 1u", "xor_sync(wm, v0, 16u", "down_sync(wm, v0, 3u", "up_sync(wm, v0, 1u", "down_sync(wm, v0, 1u, 8", "xor_sync(wm, v0, 2u, 4"}) + ");");
      case 3: return statement("v3 += __ballot_sync(wm, int($ & 1u));", {value(2)});
      case 4: return statement("v3 += unsigned(__any_sync(wm, int($ & 8u))) + 2u * unsigned(__all_sync(wm, int($ | 1u)));", {value(2), value(1)});
      case 5: return statement("v2 ^= __match_any_sync(wm, $ & 3u);", {value(2)});
      case 6: return statement("v1 += __reduce_" + choice({"add", "min", "max", "and", "or", "xor"}) + "_sync(wm, $);", {value(2)});
      case 7: return statement("{ const unsigned h = $ % lanes + 1u, some = h < 32u ? (1u << h) - 1u : ~0u;\nif (lane < h) v0 += __shfl_sync(some, v2, (lane + 1u) % h);\n}", {same(1)});
      case 8: return statement("{ const unsigned h = $ % lanes + 1u, some = h < 32u ? (1u << h) - 1u : ~0u;\nif (lane < h) {\nv1 += __ballot_sync(some, int($ & 1u));\n} else {\n$}\n}", {same(1), value(2), block({store()})});
      case 9: return statement("__syncwarp(wm);");
      case 10:
        if (!readable_ && has_barriers_) return statement("s[t] = $;\n__syncwarp(wm);\nv3 += s[warp * 32u + (lane + $) % lanes];\n__syncwarp(wm);", {value(2), same(0)});
        return statement("v0 += rw($ & 3u, v1, wm, (lane + 1u) % lanes);", {same(0)});
      default: return statement("f0 = __shfl_sync(wm, float(v0 & 255u), (lane + 5u) % lanes);\nq0 += __shfl_sync(wm, q0, $ % lanes);", {same(0)});
    }
  }

  std::mt19937_64 random_;
  Program program_;
  unsigned axes_ = 1, each_ = 1, b_limit_ = 1, names_ = 0;
  unsigned left_ = 20;  ///< statements until only simple ones follow: the few kernels that are longer would take half of the compiler's time
  Layout layout_ = Layout::kAcrossGrid;
  bool has_barriers_ = false, has_warps_ = false, has_locks_ = false, has_left_ = false, is_volatile_ = false, dynamic_ = false;
  bool is_tiny_ = false;   ///< a few statements
  bool is_plain_ = false;  ///< a short program, of the kind that people write
  bool readable_ = false;  ///< shared memory is read by all: nobody writes
  std::vector<Counter> counters_, same_counters_;
};

}  // namespace

Program random_program(std::uint64_t seed) { return KernelWriter(seed).write(); }

}  // namespace damo::random_kernels
