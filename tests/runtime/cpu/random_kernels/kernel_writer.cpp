#include "runtime/cpu/random_kernels/kernel_writer.hpp"

#include "runtime/cpu/random_kernels/helper_functions.hpp"
#include "runtime/cpu/random_kernels/kernel_statements.hpp"

namespace damo::random_kernels {
namespace {

class KernelWriter : KernelStatements {
 public:
  using KernelStatements::KernelStatements;
  Program write();

 private:
  void choose_launch();
  void choose_arrays();
  void declare(std::vector<Node>& kernel);
  void choose_leavers();
  /// Threads that take no part.
  void guard(std::vector<Node>& kernel);

  bool is_volatile_ = false, dynamic_ = false;
};

Program KernelWriter::write() {
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
  const bool ends_in_loop = goes_in_step() && all == Together::kNobody && one_in(2);
  if (ends_in_loop) kernel.push_back(block({own_elements_loop(0)}));
  else if (one_in(5)) kernel.push_back(statement("if (($ & 7u) == 5u) return;", {value(1)}));  // no barrier comes after it
  if (!ends_in_loop && (!is_tiny_ || one_in(2))) kernel.push_back(block({statement("a[" + index_of("0u") + "]" + member() + " = PART(v0 + v1 + v2 + u0);"), statement("atomicAdd(acc, v3);")}));
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

void KernelWriter::choose_launch() {
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

void KernelWriter::choose_arrays() {
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

void KernelWriter::declare(std::vector<Node>& kernel) {
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

void KernelWriter::choose_leavers() {
  has_left_ = (has_barriers_ || has_warps_) && one_in(4);
  if (has_left_) program_.leaving = below(program_.launch.threads());
}

void KernelWriter::guard(std::vector<Node>& kernel) {
  if (has_barriers_ || has_warps_) {
    if (!has_left_) return;
    kernel.push_back(fixed("if (t >= live) {\n$return;\n}", {block({statement("a[" + index_of("0u") + "]" + member() + " = PART(v0);")})}));
  } else if (one_in(2)) {
    program_.left_out = below(program_.launch.total() / 2 + 1);
    kernel.push_back(fixed("if (g >= n) return;"));
  }
}

}  // namespace

Program random_program(std::uint64_t seed) { return KernelWriter(seed).write(); }

}  // namespace damo::random_kernels
