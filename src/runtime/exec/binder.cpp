#include "runtime/exec/binder.hpp"
#include "graph/base/counted.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/exec/blame.hpp"
#include "runtime/exec/cell_access.hpp"

namespace damo {
namespace {

__extension__ typedef __int128 Wide;  // products of any two 64-bit numbers

constexpr Wide kMostBytes = Wide{1} << 47;  // what a processor can address
constexpr std::size_t kApart = 16 << 20;    // a third of what the caches of GPUs hold that are worth a replay
constexpr std::size_t kWorkApart = 64 << 20;  // of workspaces, the smallest first: as much as a log keeps (work_log.cpp)
constexpr std::size_t kTiny = 2048;         // bytes that are not worth a wait: a node's second launch, which nobody waits for, may still read or write its values of rows
constexpr std::size_t kMostOrdered = 4096;  // nodes, whose order takes two megabytes of bits

/// Which nodes follow from which by data alone.
class DataOrder {
 public:
  DataOrder(const Program& program, const std::vector<int>& passing) : program_(program), passing_(passing), words_((program.nodes().size() + 63) / 64), before_(program.nodes().size() * words_, 0), readers_(program.cells().size()) {
    for (std::size_t i = 0; i < program.nodes().size(); ++i) {
      const int node = static_cast<int>(i);
      for (int input : program.nodes()[i].inputs) {
        add(node, cell(input).producer);
        readers_[static_cast<std::size_t>(memory_of(input))].push_back(node);
      }
    }
  }

  bool follows_node(int node, int earlier) const { return has(node, earlier); }
  /// Whether a node follows from all that write or read the cell's memory.
  bool follows(int node, int of) const {
    const std::vector<int>& readers = readers_[static_cast<std::size_t>(of)];
    return has(node, cell(of).producer) && std::all_of(readers.begin(), readers.end(), [&](int reader) { return has(node, reader); });
  }

 private:
  const ProgramCell& cell(int number) const { return program_.cells()[static_cast<std::size_t>(number)]; }

  /// The cell whose memory it looks into, was handed or overwrites.
  int memory_of(int number) const {
    for (;;) {
      const int producer = cell(number).producer;
      if (cell(number).role == CellRole::kView) {
        number = cell(number).base;
      } else if (producer >= 0 && std::binary_search(passing_.begin(), passing_.end(), producer)) {
        const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(producer)];
        number = node.inputs[static_cast<std::size_t>(node.passes)];
      } else if (const int overwritten = producer < 0 ? -1 : overwritten_by(program_.nodes()[static_cast<std::size_t>(producer)], number); overwritten >= 0) {
        number = overwritten;
      } else {
        return number;
      }
    }
  }
  static int overwritten_by(const ProgramNode& node, int output) {
    for (const ProgramOverwrite& overwrite : node.overwrites) {
      if (overwrite.in_place && node.outputs[static_cast<std::size_t>(overwrite.output)] == output) return node.inputs[static_cast<std::size_t>(overwrite.input)];
    }
    return -1;
  }

  void add(int node, int earlier) {
    if (earlier < 0) return;
    std::uint64_t *to = row(node), *from = row(earlier);
    for (std::size_t i = 0; i < words_; ++i) to[i] |= from[i];
    to[earlier / 64] |= std::uint64_t{1} << (earlier % 64);
  }
  bool has(int node, int earlier) const { return earlier >= 0 && (before_[static_cast<std::size_t>(node) * words_ + static_cast<std::size_t>(earlier / 64)] >> (earlier % 64) & 1) != 0; }
  std::uint64_t* row(int node) { return before_.data() + static_cast<std::size_t>(node) * words_; }

  const Program& program_;
  const std::vector<int>& passing_;  // in order
  std::size_t words_;
  std::vector<std::uint64_t> before_;    // by node: the nodes that it follows from
  std::vector<std::vector<int>> readers_;  // by cell: of its memory
};

/// Offsets of the first and the last element from element (0, 0, ...), in bytes.
struct Reach {
  Wide first = 0, last = 0;
  Reach(const Shape& shape, const Strides& strides, Wide offset, Wide item) {
    first = last = offset;
    for (int axis = 0; axis < shape.rank(); ++axis) (strides[axis] < 0 ? first : last) += Wide{shape[axis] - 1} * strides[axis];
    first *= item;
    last = last * item + item - 1;
  }
};

/// A view looks at elements of its input, or between them.
void check_reach(const Op& op, const Op::Layout& view, DType dtype, const Cell& base) {
  if (view.shape.size() == 0) return;
  const std::string what = op.name() + ": view_layout gave shape " + to_string(view.shape) + ", strides " + to_string(view.strides) + ", offset " +
                           std::to_string(view.offset) + ", which reaches beyond its input of shape " + to_string(base.shape()) + ", strides " +
                           to_string(base.strides());
  if (base.shape().size() == 0) throw ShapeError(what, "a view looks at elements of its input, which has none");
  const Reach seen(view.shape, view.strides, view.offset, static_cast<Wide>(itemsize(dtype)));
  const Reach there(base.shape(), base.strides(), 0, static_cast<Wide>(itemsize(base.dtype())));
  if (seen.first < there.first || seen.last > there.last) throw ShapeError(what, "a view looks at elements of its input");
}

}  // namespace

void check_shape(const char* who, const Op& op, int output, const TensorType& type, const Shape& shape) {
  const auto what = [&] { return op.name() + ": " + who + " gave output " + std::to_string(output) + " "; };
  for (std::int64_t extent : shape) {
    if (extent < 0) throw ShapeError(what() + "an extent of " + std::to_string(extent), "extents are 0 or more");
  }
  if (!type.accepts(type.dtype, shape)) throw ShapeError(what() + "the shape " + to_string(shape) + ", make_node declared " + to_string(type), "declare kUnknown in make_node where an extent shows at the call alone");
  Wide bytes = static_cast<Wide>(itemsize(type.dtype));
  bool is_empty = false;
  for (std::int64_t extent : shape) {
    is_empty |= extent == 0;
    bytes = std::min(bytes * std::max<std::int64_t>(extent, 1), kMostBytes + 1);
  }
  if (!is_empty && bytes > kMostBytes) throw ShapeError(what() + "the shape " + to_string(shape) + ", more than any memory holds", "give lesser extents");
}

void Binder::set_layout(int number, const Shape& shape, const Strides& strides, Binding& binding) {
  CellAccess::set_layout(cell(number), shape, strides);
  binding.cells.push_back({number, shape, strides, cell(number).version()});
}

void Binder::bind(std::span<const int> nodes, Binding& binding) {
  std::vector<char> unknown(cells_.size(), 0);
  const auto mark = [&](int node, char is_unknown) {
    for (int output : program_.nodes()[static_cast<std::size_t>(node)].outputs) unknown[static_cast<std::size_t>(output)] = is_unknown;
  };
  for (int node : nodes) mark(node, 1);
  for (int number : nodes) {
    const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
    const bool waits = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) { return unknown[static_cast<std::size_t>(input)] != 0; });
    if (!waits && blame(program_, number, [&] { return bind_node(number, binding); })) {
      mark(number, 0);
      binding.nodes.push_back(number);
    } else {
      binding.waiting.push_back(number);
    }
  }
  bind_parts(binding);
  for (const ProgramUpdate& update : program_.updates()) {
    if (!unknown[static_cast<std::size_t>(update.cell)]) program_.check_update(update, cell(update.cell).shape());
  }
}

bool Binder::bind_node(int number, Binding& binding) {
  const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
  const Op& op = node.apply.op();
  if (node.is_view) {
    bind_view(number, binding);
    return true;
  }
  std::vector<Shape> inputs;
  for (int input : node.inputs) inputs.push_back(cell(input).shape());
  const Shapes outputs = op.infer_shape(node.apply, inputs);
  if (!outputs && node.overwrites.empty()) return false;
  if (!outputs) throw GraphError(op.name() + " overwrites an input and does not know its shapes before it runs", "override Op::infer_shape");
  if (outputs->size() != node.outputs.size()) throw GraphError("infer_shape gave " + std::to_string(outputs->size()) + " shapes for " + std::to_string(node.outputs.size()) + " outputs", "give one for each output, in their order");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Shape& shape = (*outputs)[i];
    check_shape("infer_shape", op, static_cast<int>(i), program_.cells()[static_cast<std::size_t>(node.outputs[i])].type, shape);
    set_layout(node.outputs[i], shape, contiguous_strides(shape), binding);
  }
  check_overwrites(node);
  if (node.passes >= 0) {
    const Cell& input = cell(node.inputs[static_cast<std::size_t>(node.passes)]);
    if (!(input.shape() == (*outputs)[0])) throw ShapeError(op.name() + ": output 0 of shape " + to_string((*outputs)[0]) + " is not what passes_through says, an input of shape " + to_string(input.shape()), "claim it of inputs of the output's shape alone");
    bind_passing(number, binding);
  }
  return true;
}

void Binder::bind_passing(int number, Binding& binding) const {
  const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
  const Cell& input = cell(node.inputs[static_cast<std::size_t>(node.passes)]);
  if (is_contiguous(input.shape(), input.strides())) binding.passing.push_back(number);
}

void Binder::bind_parts(Binding& binding) {
  if (program_.parts().empty()) return;
  std::vector<char> is_bound(program_.nodes().size(), 0);
  for (int node : binding.nodes) is_bound[static_cast<std::size_t>(node)] = 1;
  for (std::size_t i = 0; i < program_.parts().size(); ++i) {
    const ProgramPart& part = program_.parts()[i];
    if (!is_bound[static_cast<std::size_t>(program_.cells()[static_cast<std::size_t>(part.cell)].producer)]) continue;
    binding.parts.push_back({static_cast<int>(i), Binding::Part::kApart});
    if (is_bound[static_cast<std::size_t>(part.node)]) blame(program_, part.node, [&] { bind_part(part, binding); });
  }
  binding.views.clear();
  binding.passing.clear();
  for (int number : binding.nodes) {
    const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
    if (node.is_view) bind_view(number, binding);
    else if (node.passes >= 0) bind_passing(number, binding);
  }
}

void Binder::bind_part(const ProgramPart& part, Binding& binding) {
  const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(part.node)];
  const Cell& whole = cell(node.outputs[0]);
  std::vector<Shape> inputs;
  for (int input : node.inputs) inputs.push_back(cell(input).shape());
  const auto refuse = [&](const Op& op) { throw GraphError(op.name() + ": input " + std::to_string(part.input) + " has no place where it had one before the shapes were known", "let layout_behind and place_in_output tell of all shapes alike"); };
  std::optional<Op::Layout> layout = node.apply.op().place_in_output(part.input, inputs, {whole.shape(), whole.strides(), 0});
  if (!layout) refuse(node.apply.op());
  for (int view : part.views) {
    const ProgramNode& turn = program_.nodes()[static_cast<std::size_t>(view)];
    layout = turn.apply.op().layout_behind(*layout, cell(turn.inputs[static_cast<std::size_t>(turn.apply.op().view_of(0))]).shape());
    if (!layout) refuse(turn.apply.op());
  }
  if (!(layout->shape == cell(part.cell).shape())) refuse(node.apply.op());
  check_reach(node.apply.op(), *layout, whole.dtype(), whole);
  set_layout(part.cell, layout->shape, layout->strides, binding);
  binding.parts.back().offset = layout->shape.size() == 0 ? 0 : layout->offset;
}

void Binder::bind_view(int number, Binding& binding) {
  const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
  const Op& op = node.apply.op();
  const Cell& base = cell(node.inputs[static_cast<std::size_t>(op.view_of(0))]);
  const TensorType& type = program_.cells()[static_cast<std::size_t>(node.outputs[0])].type;
  std::vector<Op::Layout> inputs;
  for (int input : node.inputs) inputs.push_back({cell(input).shape(), cell(input).strides(), 0});
  const Op::Layout layout = op.view_layout(node.apply, inputs);
  check_shape("view_layout", op, 0, type, layout.shape);
  if (layout.strides.rank() != layout.shape.rank()) {
    throw ShapeError(op.name() + ": view_layout gave " + std::to_string(layout.strides.rank()) + " strides for " + counted_axes(layout.shape.rank()), "give one for each axis");
  }
  check_reach(op, layout, type.dtype, base);
  set_layout(node.outputs[0], layout.shape, layout.strides, binding);
  binding.views.push_back({number, layout.shape.size() == 0 ? 0 : layout.offset});
}

void Binder::check_overwrites(const ProgramNode& node) const {
  for (const ProgramOverwrite& overwrite : node.overwrites) {
    const Cell &output = cell(node.outputs[static_cast<std::size_t>(overwrite.output)]), &input = cell(node.inputs[static_cast<std::size_t>(overwrite.input)]);
    if (output.dtype() == input.dtype() && output.shape() == input.shape()) continue;
    throw ShapeError(node.apply.op().name() + ": output " + std::to_string(overwrite.output) + ", " + to_string(TensorType{output.dtype(), output.shape()}) +
                     ", overwrites input " + std::to_string(overwrite.input) + ", " + to_string(TensorType{input.dtype(), input.shape()}),
                     "an output that overwrites has its input's dtype and shape");
  }
}

/// Memory that nodes share in turn orders them, so where calls are replayed as graphs, whose nodes run side by side (work_order.hpp), a temporary has the
/// bytes of another one only if its node follows from all that read that one, and a workspace shares bytes only with what its node follows from, or what follows from it. Where that could
/// cost much memory they share as they can: all temporaries, or the largest workspaces among themselves. lives: of the places, and behind them of the workspaces.
MemoryPlan Binder::plan_of(const Binding& binding, std::vector<Lifetime> lives, const PartWriters& writers) const {
  if (program_.device().backend().least_replayed == 0) return MemoryPlan(lives);
  const std::size_t places = binding.places.size();
  std::vector<char> apart(lives.size(), 0);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < places; ++i) bytes += lives[i].bytes;
  if (bytes <= kApart) std::fill_n(apart.begin(), places, 1);
  std::vector<std::size_t> by_size(lives.size() - places);
  std::iota(by_size.begin(), by_size.end(), places);
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) { return lives[a].bytes < lives[b].bytes; });
  bytes = 0;
  for (std::size_t i : by_size) apart[i] = (bytes += lives[i].bytes) <= kWorkApart;
  if (std::find(apart.begin(), apart.end(), 1) == apart.end()) return MemoryPlan(lives);
  if (lives.size() > MemoryPlan::kMostAsked || program_.nodes().size() > kMostOrdered) {
    for (std::size_t i : by_size) {
      if (apart[i]) lives[i].first = 0, lives[i].last = std::numeric_limits<int>::max();
    }
    return MemoryPlan(lives);
  }
  const DataOrder order(program_, binding.passing);
  return MemoryPlan(lives, [&](std::size_t later, std::size_t earlier) {
    if (!apart[later] && !apart[earlier]) return true;
    const bool is_tiny = std::min(lives[later].bytes, lives[earlier].bytes) <= kTiny;
    if (is_tiny) return false;
    const auto follows = [&](int node) { return earlier < places ? order.follows(node, binding.places[earlier].cell) : order.follows_node(node, lives[earlier].first); };
    const auto before = later < places ? writers.find(binding.places[later].cell) : writers.end();
    return before == writers.end() ? follows(lives[later].first) : std::all_of(before->second.begin(), before->second.end(), follows);  // its own node follows from these
  });
}

void Binder::place(Binding& binding) const {
  std::vector<Lifetime> lives;
  std::size_t largest = 0;
  const auto note = [&](int number, std::size_t bytes) {
    if (binding.largest_node >= 0 && bytes <= largest) return;
    binding.largest_node = number;
    largest = bytes;
  };
  PartWriters writers;
  for (const Binding::Part& bound : binding.parts) {
    const ProgramPart& part = program_.parts()[static_cast<std::size_t>(bound.part)];
    if (bound.offset != Binding::Part::kApart) writers[program_.root(part.cell)].push_back(program_.cells()[static_cast<std::size_t>(part.cell)].producer);
  }
  for (int number : binding.nodes) {
    const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
    if (node.is_view || std::binary_search(binding.passing.begin(), binding.passing.end(), number)) continue;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const int output = node.outputs[i];
      const ProgramCell& plan = program_.cells()[static_cast<std::size_t>(output)];
      if (node.is_in_place(static_cast<int>(i)) || plan.part >= 0) continue;
      if ((plan.update >= 0 && !program_.is_guarded()) || plan.donation >= 0) continue;  // see Context::begin_outputs
      if (plan.role == CellRole::kOutput) {
        binding.owned.push_back(output);
        continue;
      }
      const std::size_t bytes = static_cast<std::size_t>(cell(output).shape().size()) * itemsize(plan.type.dtype);
      note(number, bytes);
      const auto before = writers.find(output);
      const int first = before == writers.end() ? number : *std::min_element(before->second.begin(), before->second.end());
      lives.push_back({bytes, first, std::max(number, plan.last_use)});
      binding.places.push_back({output, 0});
    }
  }
  for (const Binding::Work& work : binding.work) {
    note(work.node, work.bytes);
    lives.push_back({work.bytes, work.node, work.node});
  }
  const MemoryPlan plan = plan_of(binding, std::move(lives), writers);
  const std::size_t places = binding.places.size();
  for (std::size_t i = 0; i < places; ++i) binding.places[i].offset = plan.offsets[i];
  for (std::size_t i = 0; i < binding.work.size(); ++i) binding.work[i].offset = plan.offsets[places + i];
  binding.arena_bytes = plan.bytes;
}

}  // namespace damo
