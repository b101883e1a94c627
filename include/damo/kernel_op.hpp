// KernelOp: an op that says what its kernel computes instead of bringing one. Damo prints it for a GPU or the CPU, for any layout of
// its arrays, and fuses it as it does its own ops: to the fuser rows, reductions and these are one thing.
//
//   struct LogCosh final : KernelOp {
//     std::string name() const override { return "log_cosh"; }
//     void lower(KernelBuilder& k) const override {
//       const auto a = k.step("fabs(x0)", {k.input(0)});
//       k.output(k.step("x0 + log1p(exp(-2 * x0)) - T(0.6931471805599453)", {a}));
//     }
//   };
//   inline const auto log_cosh = make_op<LogCosh>();
//
//   struct SumOfSquares final : KernelOp {          // along the last of two axes, which stays with extent 1
//     std::string name() const override { return "sum_of_squares"; }
//     std::optional<std::uint32_t> reduced_axes() const override { return 0b10; }
//     void lower(KernelBuilder& k) const override {
//       k.output(k.join({.element = "x0 * x0", .neutral = "0", .reduce = "a + b"}, {k.input(0)}));
//     }
//   };
//
// Several values that are joined together, each from those of all, are members of one join: means and squares around them, a maximum and its place, an affine map. An op gives one of them; ops that join alike, side by side in
// a kernel, share what they join. See examples/18_joins_of_several_values.cpp.
//
//   const auto joined = k.join({.members = {{"count", float32, "1", "0", "a.count + b.count"},
//                                           {"mean", float32, "x0", "0", "a.mean + (b.mean - a.mean) * share"}},
//                               .before = "const float count = a.count + b.count, share = b.count / (count > 0 ? count : 1);"}, {k.input(0)});
//   k.output(joined[1]);
//
// A single formula on single elements is less to write as an Elementwise row. See tests/function/kernel_op_test.cpp and tests/function/joined_values_test.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <damo/op.hpp>

namespace damo {

struct KernelSpec;  // src/runtime/kernel/spec.hpp
struct Step;
enum class Prefix : std::uint8_t;

/// What KernelOp::lower writes into. Texts are C++ expressions on x0, x1, ..., converted to a type T; what they may call is in
/// docs/kernel-functions.md. T is the promoted dtype of the step's values, float for those of 16 bits.
class KernelBuilder {
 public:
  /// A value of each element, or of each row: what joins give, and what follows from that alone.
  struct Value {
    int number = 0;
    DType dtype = float32;
  };
  /// How the elements of a row become one value. Order and grouping are Damo's choice.
  struct Join {
    std::string element;    ///< of x0, x1, ...: what is joined
    std::string neutral;    ///< of type T: reduce(neutral, a) is a
    std::string reduce;     ///< of a and b; associative and commutative but for rounding
    std::string post = {};  ///< of a and n, the number of elements; empty: a
  };

  /// One of several values that are joined together.
  struct Member {
    std::string name;       ///< as texts call it: a.mean, b.mean
    DType dtype = float32;  ///< what is given; 16-bit and 8-bit floats are joined in float
    std::string element;    ///< of x0, x1, ..., each of its own dtype (float for floats of 16 bits and less): what one element gives
    std::string neutral;    ///< what no elements give
    std::string reduce;     ///< of a and b, which have all members
  };
  /// How the elements of a row become several values: as Join, of all members together. A join of neutral members is them.
  struct JoinOfMembers {
    std::vector<Member> members;  ///< of no more than 64 bytes together
    std::string before = {};      ///< statements on a and b that stand before the expressions of reduce
  };
  /// Likewise as Scan.
  struct ScanOfMembers {
    std::vector<Member> members;
    std::string before = {};
    bool exclusive = false;
  };

  /// How each element gets a value of those up to it along the op's axis, in the direction that KernelOp::scans() says.
  struct Scan {
    std::string element;    ///< of x0, x1, ...: what is joined
    std::string neutral;    ///< of type T: what an exclusive scan begins with
    std::string reduce;     ///< of a, the earlier one, and b; associative but for rounding
    std::string post = {};  ///< of a and n, the number of elements that were joined; empty: a
    bool exclusive = false; ///< without the element's own
  };

  /// The value of the node's input. Throws GraphError for one that there is not.
  Value input(int i) const;
  int input_count() const { return static_cast<int>(inputs_.size()); }
  /// int64: the element's number among those of the op's output along its counted_axes(), in C order. For an op that counts_elements(); GraphError for another one.
  Value ordinal() const;
  /// result: else the promoted dtype. cost: instructions, about.
  Value step(std::string code, std::vector<Value> values, std::optional<DType> result = {}, int cost = 1, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
  /// Over the op's reduced axes.
  Value join(Join join, std::vector<Value> values, std::optional<DType> result = {}, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
  /// Along the op's axis, of an op that scans(). Follows from no other scan of the op.
  Value scan(Scan scan, std::vector<Value> values, std::optional<DType> result = {}, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
  /// One value of each member, in their order. Throws GraphError for members that make no sense.
  std::vector<Value> join(JoinOfMembers join, std::vector<Value> values, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
  std::vector<Value> scan(ScanOfMembers scan, std::vector<Value> values, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
  /// int64: the element's place among those that are reduced together, or along the axis of a scan, in C order. Of an op with reduced axes.
  Value place();
  /// Which value the op gives: once. Of an op that reduces one of each row: what a join gave, or what follows from such values alone.
  void output(Value value);

  // Damo's own.
  KernelBuilder(KernelSpec& spec, std::string name, std::vector<Value> inputs, int ordinals = -1)
      : spec_(spec), name_(std::move(name)), inputs_(std::move(inputs)), ordinals_(ordinals) {}
  KernelSpec& spec() { return spec_; }
  Value append(Step step);
  const std::optional<Value>& result() const { return output_; }

 private:
  /// Throws GraphError for a value that the kernel does not have.
  void require(Value value) const;
  Step step_of(std::string code, const std::vector<Value>& values, std::optional<DType> result, SourceLine where) const;
  std::vector<Value> append_members(const std::vector<Member>& members, std::string before, Prefix prefix, const std::vector<Value>& values, SourceLine where);
  KernelSpec& spec_;
  std::string name_;
  std::vector<Value> inputs_;
  int ordinals_;  // the value of the kernel that counts; -1: none
  std::optional<Value> output_;
};

class KernelOp : public Op {
 public:
  /// Writes the kernel of one node; called whenever a kernel is made that has the op, so it must always write the same.
  virtual void lower(KernelBuilder& kernel) const = 0;
  /// Nothing: elements of the inputs, which broadcast, give elements of the output. Else bit a: axis a of the inputs, which have one shape, is reduced and stays
  /// with extent 1, or is scanned (scans()).
  virtual std::optional<std::uint32_t> reduced_axes() const { return {}; }
  /// Of an op with one such axis, that keeps its extent: whether lower() uses scan(), and from which end of the axis it goes. The output has the inputs' shape.
  enum class Scans : std::uint8_t { kNo, kForward, kBackward };
  virtual Scans scans() const { return Scans::kNo; }
  /// Whether lower asks for ordinal(), which takes no memory. Not of an op that reduces.
  virtual bool counts_elements() const { return false; }
  /// Of an op that counts_elements(): bit a: axis a of its output counts. Along the others the numbers repeat.
  virtual std::uint32_t counted_axes() const { return ~std::uint32_t{0}; }
  /// Whether input i is a table: an array of any axes, of which steps read elements at places that they compute, counted in C order. A step's text has it as `x0[at]`, 0 where it has no such element, and
  /// `x0.size`; lower_bound(x0, x1) and upper_bound(x0, x1) search one that is in order. An element has the table's own type, of 16 bits too: T(x0[at]). Neither what a step gives nor what the op does is promoted with a table's dtype; a constant of rank 0 is a number, and refused. It has no part in the output's shape, nor by default in its dtype, and what makes it is another kernel. Not of an op that reduces.
  virtual bool reads_table(int) const { return false; }
  /// Whether a C++ number that is given as this input is passed with each launch, so that kernels which differ in it alone have one text.
  virtual bool takes_as_argument(int) const { return false; }
  /// Instructions an element, about: what fusion weighs.
  virtual int cost() const { return 4; }
  /// From the inputs' shapes at a call; dims: of their types. Default: as reduced_axes() says, of all but tables.
  virtual Shape output_shape(std::span<const Shape> dims, std::span<const Shape> shapes) const;
  /// From types alone.
  Shape output_shape(std::span<const Shape> dims) const { return output_shape(dims, dims); }

  /// Default: any number of inputs of any dtypes, one output of the promoted dtype. An override has one output of output_shape() too.
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  bool may_run_in_place(int, int input) const override { return !reduced_axes() && !reads_table(input); }
  /// As generated kernels do. An op with a make_thunk of its own that needs outputs in C order says that it may not.
  bool may_write_window(int) const override { return true; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
};

}  // namespace damo
