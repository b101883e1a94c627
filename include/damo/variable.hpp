// Variable and Apply: the graph as the user builds it. Both are handles to shared, immutable data: copying is cheap, a
// graph lives as long as any Variable of it, and two threads may build on the same Variables. Releasing the last handle
// of a long chain does not recurse. Compiling never changes a graph: function() takes a snapshot (graph.hpp).
// See tests/graph/variable_test.cpp.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <damo/error.hpp>
#include <damo/scalar.hpp>
#include <damo/type.hpp>

namespace damo {

class Op;
class Apply;
using OpPtr = std::shared_ptr<const Op>;
struct ApplyData;  // src/graph/apply_data.hpp

/// The value of a Constant: C-contiguous host bytes.
struct ConstantData {
  TensorType type;  ///< every extent known
  std::vector<std::byte> bytes;

  bool is_scalar() const { return type.dims.empty(); }
  /// Of a rank-0 constant.
  Scalar scalar() const { return Scalar::load(type.dtype, bytes.data()); }
};
using ConstantPtr = std::shared_ptr<const ConstantData>;

/// What a shared variable holds (shared.hpp); the graph knows that it is there and no more.
class SharedStorage {
 public:
  virtual ~SharedStorage() = default;
};
using SharedPtr = std::shared_ptr<SharedStorage>;

/// One result of an Apply node, or an input, a constant or a shared variable.
class Variable {
 public:
  Variable() = default;  ///< empty; only assignment and explicit bool are allowed
  Variable(const Variable& other);
  Variable(Variable&& other) noexcept : data_(other.data_), index_(other.index_) { other.data_ = nullptr; }
  Variable& operator=(Variable other) noexcept;
  ~Variable();

  /// Whether it is one at all. Of an expression this is no question: `if (x > y)` and `!isnan(x)` do not compile; where() and logical_not() ask for the values.
  explicit operator bool() const& { return data_ != nullptr; }
  explicit operator bool() const&& = delete;
  IsEmpty operator!() const& { return {data_ == nullptr}; }
  IsEmpty operator!() const&& = delete;
  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  int rank() const { return type().rank(); }
  const Shape& dims() const { return type().dims; }

  /// The node that computes it; check has_owner() first.
  Apply owner() const;
  int index() const { return index_; }
  bool has_owner() const;
  /// A free input: neither computed nor constant nor shared.
  bool is_input() const;
  bool is_constant() const { return constant() != nullptr; }
  /// Null if it is no constant.
  const ConstantPtr& constant() const;
  bool is_shared() const { return shared_storage() != nullptr; }
  /// Null if it is no shared variable.
  const SharedPtr& shared_storage() const;

  const std::string& name() const;
  /// A label for prints and errors; no part of the graph's meaning. Not while another thread reads it.
  const Variable& set_name(std::string name) const;
  SourceLine where() const;

  /// The same Variable, not the same value.
  bool is_same(const Variable& other) const { return data_ == other.data_ && index_ == other.index_; }
  /// For hash maps: unique among the living Variables.
  std::size_t id() const;

 private:
  friend class Apply;
  friend struct ApplyData;
  friend Variable input(TensorType, std::string, SourceLine);
  friend Variable constant(ConstantData, std::string, SourceLine);
  friend Variable shared_variable(TensorType, SharedPtr, std::string, SourceLine);
  Variable(ApplyData* data, int index);  // takes a share

  ApplyData* data_ = nullptr;
  int index_ = 0;
};

/// An op applied to inputs: what Op::make_node returns.
class Apply {
 public:
  /// op must have been made by make_op (op.hpp); throws GraphError otherwise, or for an empty input.
  Apply(const Op& op, std::vector<Variable> inputs, std::vector<TensorType> outputs);

  const Op& op() const;
  const OpPtr& op_ptr() const;
  std::span<const Variable> inputs() const;
  const Variable& input(int i) const { return inputs()[static_cast<std::size_t>(i)]; }
  int output_count() const;
  Variable output(int i = 0) const;
  std::vector<Variable> outputs() const;
  SourceLine where() const;
  void set_where(SourceLine where) const;

 private:
  friend class Variable;
  explicit Apply(Variable any) : any_(std::move(any)) {}
  Variable any_;  // some output: keeps the data alive
};

/// A Variable or a C++ number, together with the line it was written on: what ops take, so that an error names the
/// user's line. A number is weak (see dtype.hpp). GraphError for an empty Variable.
class Operand {
 public:
  Operand(Variable variable, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : variable_(std::move(variable)), where_{file, line} {
    if (!variable_) refuse_empty();
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T number, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : number_(weak_number(number)), where_{file, line} {}

  bool is_number() const { return !variable_; }
  const Variable& variable() const { return variable_; }
  const Scalar& number() const { return number_; }
  /// The line that it was written on; of what Damo makes of several ops that of the user's call.
  SourceLine where() const;
  /// As an operand of a promotion.
  Promotable promotable() const;
  /// The Variable; a number becomes a constant of dtype.
  Variable as(DType dtype) const;

 private:
  [[noreturn]] void refuse_empty() const;

  Variable variable_;
  Scalar number_;
  SourceLine where_;
};

/// A free input of a graph.
Variable input(TensorType type, std::string name = {},
               SourceLine where = {__builtin_FILE(), __builtin_LINE()});
/// Free inputs of unknown extents, float32 unless told.
Variable scalar(std::string name = {}, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable vector(std::string name = {}, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable matrix(std::string name = {}, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable tensor3(std::string name = {}, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable tensor4(std::string name = {}, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

/// A value fixed in the graph. ShapeError if the bytes do not fill the type.
Variable constant(ConstantData value, std::string name = {},
                  SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable constant(Scalar value, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

/// A leaf whose value is kept outside the graph: what shared() (shared.hpp) makes its variables of.
Variable shared_variable(TensorType type, SharedPtr storage, std::string name = {}, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

/// A Variable and another one: a shared variable and its new value (Options::updates), or a Variable and what stands in
/// its place (Options::givens).
struct Assignment {
  Variable variable, value;
};

/// "x float32 (?, ?)", for errors and prints; an unnamed Variable is called by its op. What is computed from what: debugprint (print.hpp).
std::string describe(const Variable& variable);
std::ostream& operator<<(std::ostream& out, const Variable& variable);

}  // namespace damo
