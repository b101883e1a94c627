// Op: an operation that a graph can hold. A user's own op derives from it; make_op makes one:
//
//   struct DoubleOp final : Op {
//     std::string name() const override { return "double"; }
//     Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
//     Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
//     Thunk make_thunk(const Apply& node, ThunkContext& context) const override;   // thunk.hpp
//   };
//   inline const auto double_op = make_op<DoubleOp>();
//   Variable y = double_op(x);
//
// Ops are immutable and shared between threads. Two ops are equal when their types and props are; equal ops on the same
// inputs are merged, so everything that changes the result belongs into props(). See examples/ for the ways to write one.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

class FunctionGraph;  // graph.hpp
class ThunkContext;   // thunk.hpp
/// One node's work, called once a call of the Function; holds references to storage cells.
using Thunk = std::function<void()>;

/// An op's parameters, in order: equality, hash, printing and merging derive from them.
using PropValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;
using Props = std::vector<std::pair<std::string, PropValue>>;
std::string to_string(const Props& props);  ///< "axis=1, keepdims=true"

/// What make_node receives.
class Inputs {
 public:
  explicit Inputs(std::span<const Variable> variables) : variables_(variables) {}
  int size() const { return static_cast<int>(variables_.size()); }
  /// Throws GraphError if there are too few.
  const Variable& at(int i) const;
  /// Throws GraphError unless there are exactly n.
  void require_count(int n) const;
  auto begin() const { return variables_.begin(); }
  auto end() const { return variables_.end(); }

 private:
  std::span<const Variable> variables_;
};

/// What Op::gradient gives for one input: a Variable of the input's dtype (float32 for 8-bit floats) and shape; disconnected, when the outputs do not
/// depend on its values (an index, a shape, a condition); or not defined, with the reason, which is an error for those
/// who ask for it.
class Gradient {
 public:
  Gradient(Variable value) : value_(std::move(value)) {}
  static Gradient disconnected() { return Gradient(Variable()); }
  static Gradient not_defined(std::string reason) {
    Gradient gradient{Variable()};
    gradient.reason_ = std::move(reason);
    return gradient;
  }
  bool is_defined() const { return reason_.empty(); }
  bool is_disconnected() const { return is_defined() && !value_; }
  const Variable& value() const { return value_; }
  const std::string& reason() const { return reason_; }

 private:
  Variable value_;
  std::string reason_;
};

/// One Gradient for each input. A rule for one input may return a Variable, for several a vector of them.
class Gradients : public std::vector<Gradient> {
 public:
  using std::vector<Gradient>::vector;
  Gradients(Variable only) { push_back(std::move(only)); }
  Gradients(const std::vector<Variable>& values) : std::vector<Gradient>(values.begin(), values.end()) {}
  Gradients(std::vector<Gradient> values) : std::vector<Gradient>(std::move(values)) {}
};

/// Output shapes; nullopt: known only once the thunk has run, which then sizes its own cells (Cell::resize).
using Shapes = std::optional<std::vector<Shape>>;

class Op : public std::enable_shared_from_this<Op> {
 public:
  virtual ~Op() = default;
  virtual std::string name() const = 0;
  virtual Props props() const { return {}; }

  /// Checks arity, dtype and rank, and infers the output types; the only place where types are inferred.
  virtual Apply make_node(Inputs inputs) const = 0;
  /// No data, no device. Default: the output types' extents if all are known, else nullopt.
  virtual Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const;
  /// Called once for each Function and thread that uses it. Kernels asked for here are compiled together. Default: GraphError.
  virtual Thunk make_thunk(const Apply& node, ThunkContext& context) const;

  /// Whether the thunk may end the call by an error because of what the elements of its inputs are, as a check of positions or a factorisation does, or give its outputs
  /// sizes that what reads them refuses. A node that gives a shared
  /// variable its new value then waits for it or, where it cannot, writes that apart from the old one: a call that is refused leaves all values as they were.
  virtual bool may_refuse() const { return false; }

  /// The input that output i is a view of, -1 if none. A view has no thunk: view_layout says how it looks at its input.
  virtual int view_of(int) const { return -1; }
  struct Layout {
    Shape shape;
    Strides strides;
    std::int64_t offset = 0;  ///< in elements, added to the input's
  };
  /// inputs: of all inputs, each with offset 0. Of those beside the one that is looked at only the layout is known.
  virtual Layout view_layout(const Apply& node, std::span<const Layout> inputs) const;

  /// The input that output i may be, unchanged, when that input is contiguous; -1 if none. The thunk then does not run.
  virtual int passes_through(int) const { return -1; }

  /// The input in whose memory output i is written, -1 if none. When the thunk runs the output's cell holds the input's
  /// values, and the input's cell may be the same memory: do not read it. The input has the output's dtype and shape. The
  /// executor shares the memory where nobody else needs the old values, and copies them first where somebody does, so
  /// the op still is a function of its inputs: what it is given never changes under its other readers.
  virtual int overwrites(int) const { return -1; }

  /// Whether output i may have the memory of input j of its dtype and shape, both in C order: each element of the input is read
  /// for the outputs' elements at its own place alone, before they are written. Shared variables are then updated where they lie.
  /// A value that is several inputs must be allowed as each of them.
  virtual bool may_run_in_place(int, int) const { return false; }

  /// Of an op that puts inputs side by side in output 0: whether place_in_output may tell their places.
  virtual bool places_inputs() const { return false; }
  /// Where input j stands in output 0, which lies as `output` does, for inputs of these shapes: its elements one for one, apart from the other inputs'. The op
  /// that makes the input may then write it there, where it may_write_window, and nothing is left to copy (ThunkContext::lies_in_place). Nothing: it has no such place.
  virtual std::optional<Layout> place_in_output(int, std::span<const Shape>, const Layout&) const { return {}; }
  /// Whether output i may be a window of a larger array, of any strides in which no two elements meet. Else its buffer is its own, in C order.
  virtual bool may_write_window(int) const { return false; }
  /// Of a view: whether it looks at an input of any strides. Else at one in C order alone, which make_node sees to.
  virtual bool views_any_strides() const { return true; }
  /// Of a view that has each element of its input once: how an input of that shape lies if the view lies as `view` does. Nothing: it is no such view, whatever the extents.
  virtual std::optional<Layout> layout_behind(const Layout&, const Shape&) const { return {}; }

  /// Whether an input may be float8_e4m3 or float8_e5m2, which arithmetic does not take: the op moves elements and computes nothing of them, or converts
  /// them itself. apply() refuses such inputs for others.
  virtual bool takes_float8() const { return false; }

  /// The gradients of the inputs, from those of the outputs (gradient.hpp). output_gradients: one for each output, of its
  /// dtype (float32 for 8-bit floats) and shape, zeros where nothing depends on it, empty for outputs of integers and bools, which have none. Builds
  /// Variables and computes nothing. Default: not defined, for every input.
  virtual Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const;

  /// The graph that a fused op stands for; null for other ops. Prints draw it as a box.
  virtual const FunctionGraph* inner_graph() const { return nullptr; }

  /// Same type and equal props. A subclass that overrides it overrides hash() too.
  virtual bool equals(const Op& other) const;
  virtual std::size_t hash() const;

  /// Builds a node: make_node, with the user's line put on the node and on any error.
  Apply apply(std::span<const Variable> inputs, SourceLine where) const;

 protected:
  Op() = default;
  Op(const Op&) = default;
  Op& operator=(const Op&) = delete;
};

/// A shared Op that is called like a function.
template <class T>
class OpHandle {
 public:
  explicit OpHandle(std::shared_ptr<const T> op) : op_(std::move(op)) {}
  const T& operator*() const { return *op_; }
  const T* operator->() const { return op_.get(); }
  operator OpPtr() const { return op_; }

  /// The only output of the node, or its first.
  template <class... Rest>
  Variable operator()(const Operand& first, const Rest&... rest) const {
    return node({first, Operand(rest)...}).output(0);
  }
  std::vector<Variable> outputs(std::initializer_list<Operand> inputs) const { return node(inputs).outputs(); }

 private:
  Apply node(std::initializer_list<Operand> inputs) const {
    std::vector<Variable> variables;
    for (const Operand& input : inputs) variables.push_back(input.as(result_type(std::vector{input.promotable()})));
    return op_->apply(variables, inputs.begin()->where());
  }
  std::shared_ptr<const T> op_;
};

template <class T, class... Arguments>
OpHandle<T> make_op(Arguments&&... arguments) {
  return OpHandle<T>(std::make_shared<const T>(std::forward<Arguments>(arguments)...));
}

/// Checks for make_node: each throws TypeError or ShapeError naming the Variable and what to do.
void require_dtype(const Variable& variable, DType dtype);
void require_rank(const Variable& variable, int rank);

}  // namespace damo
