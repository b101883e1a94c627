// Elementwise: an op that computes each element from the elements of its inputs at the same place, given as one row:
//
//   inline const Elementwise swish{{.name = "swish", .doc = "x sigmoid(x)", .code = "x0 / (T(1) + exp(-x0))"}};
//   Variable y = swish(x);
//
// A user's row fuses, broadcasts and runs on every device like a built-in one; Damo is not rebuilt. The code is one C++
// expression on x0, x1, ... of type T: float for float16, bfloat16 and float32, double for float64, the promoted
// integer type for integers. It may call what stands in docs/kernel-functions.md: the functions of C's math.h, each under one
// name for float and double (fabs, not fabsf), and Damo's own. Write T(0.5): a bare 0.5 is a double and makes the whole expression one.
// A row owns its text, so it may be made at run time. Rows that compute the same are one op wherever they were written;
// unlike rows of one name are refused where they meet in one graph. Code that faults (an integer divided by 0) ends the
// call with a DeviceError on the CPU, as a RawKernel's does.
// With a .gradient rule, grad() goes through it (gradient.hpp).
// The built-in rows are in ops/rows.inc, their functions in ops/math.hpp. See tests/ops/elementwise_test.cpp.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <damo/op.hpp>

namespace damo {

/// How the inputs' promoted dtype (result_type, dtype.hpp) becomes the dtype of T and of the result.
enum class ResultRule : std::uint8_t {
  kSame,      ///< the promoted dtype
  kFloating,  ///< floating_of(promoted): exp of int32 is float64
  kDivision,  ///< promoted if floating, else float64: true_div of int8 is float64
  kBool       ///< computed in the promoted dtype, result bool
};

/// Which promoted dtypes a row takes; TypeError for others.
enum class Domain : std::uint8_t {
  kAll,              ///< bool too
  kNumbers,          ///< no bool
  kFloats,           ///< floating after the result rule
  kIntegersAndBool,  ///< and_, or_, xor_, invert
  kIntegers          ///< left_shift, right_shift
};

/// A row's gradient rule: the output's gradient, the inputs and the output -> the inputs' gradients.
///
///   .gradient = [](auto& g, auto& in, auto& out) { return std::vector{g * in[1], g * in[0]}; }
///
/// Any lambda without captures, or function, that gives what Gradients takes: a Variable for one input, a vector for
/// several. The inputs come in the dtype of the output, a condition_first's condition as bool; the rule need not care
/// about broadcasting: gradients of the output's shape are summed to the input's.
class RowGradient {
 public:
  using Function = Gradients (*)(const Variable& gradient, std::span<const Variable> inputs, const Variable& output);
  constexpr RowGradient() = default;
  constexpr RowGradient(Function function) : function_(function) {}
  template <class F>
    requires(std::is_empty_v<F> && std::is_default_constructible_v<F>)
  constexpr RowGradient(F)
      : function_([](const Variable& gradient, std::span<const Variable> inputs, const Variable& output) {
          return Gradients(F{}(gradient, inputs, output));
        }) {}

  constexpr explicit operator bool() const { return function_ != nullptr; }
  friend bool operator==(const RowGradient&, const RowGradient&) = default;
  Gradients operator()(const Variable& gradient, std::span<const Variable> inputs, const Variable& output) const {
    return function_(gradient, inputs, output);
  }

 private:
  Function function_ = nullptr;
};

struct ElementwiseRow {
  std::string name;
  std::string doc;                ///< one line
  std::string code;               ///< for floating T, and for whatever the next two leave out
  std::string integer_code;       ///< for integer T, and bool if the next is empty
  std::string bool_code;          ///< for T = bool
  ResultRule result = ResultRule::kSame;
  Domain domain = Domain::kAll;
  bool condition_first = false;   ///< x0 is bool and takes no part in the promotion (where)
  bool moves = false;             ///< takes float8_e4m3 and float8_e5m2 too: it gives elements unchanged, or says what kind of number one is
  int cost = 1;                   ///< about how many instructions an element; fusion sums it to limit a kernel
  double ulp = 0.5;               ///< error bound of float32 and float64 results, for the tests
  double low = -4, high = 4;      ///< inputs that the tests draw from; both sides of every special value are added
  RowGradient gradient = {};      ///< none: asking for it is an error. The built-in rows': src/ops/row_gradients.cpp
  int line = __builtin_LINE();    ///< of the row, for errors
  std::string file = __builtin_FILE();

  /// Whether both compute the same: name, code, dtypes and gradient. Rows of one line have the same gradient rule, though
  /// each file that includes the line makes a function of its own of a lambda.
  friend bool operator==(const ElementwiseRow& a, const ElementwiseRow& b) {
    return a.name == b.name && a.code == b.code && a.integer_code == b.integer_code && a.bool_code == b.bool_code &&
           a.result == b.result && a.domain == b.domain && a.condition_first == b.condition_first && a.moves == b.moves &&
           (a.gradient == b.gradient || (a.gradient && b.gradient && a.line == b.line && a.file == b.file));
  }
};

/// Inputs that a row's code names: one more than the greatest n of xn.
int arity(const ElementwiseRow& row);

class Elementwise {
 public:
  /// Throws GraphError for a row without a name, or code that names no x0.
  explicit Elementwise(ElementwiseRow row);

  /// One operand for each input. All take the line of the first, which is the line of the call.
  template <class... Rest>
  Variable operator()(const Operand& first, const Rest&... rest) const {
    return apply({first, at(first.where(), rest)...});
  }
  const ElementwiseRow& row() const { return *row_; }

 private:
  /// A default argument would record the line of this header.
  template <class T>
  static Operand at(SourceLine where, const T& operand) {
    if constexpr (std::is_same_v<T, Operand>) return operand;
    else return Operand(operand, where.file, where.line);
  }
  Variable apply(std::initializer_list<Operand> inputs) const;

  std::shared_ptr<const ElementwiseRow> row_;
  OpPtr op_;
};

/// Applies a row: promotion, broadcasting. What every function of ops/math.hpp does.
Variable apply_elementwise(const ElementwiseRow& row, std::initializer_list<Operand> inputs);

/// The built-in rows, in order of ops/rows.inc.
std::vector<const ElementwiseRow*> elementwise_rows();
/// The built-in row of that name; null if there is none.
const ElementwiseRow* find_elementwise(std::string_view name);
/// The op of the built-in row of that name: all its nodes have this very one. Throws GraphError if there is none.
const OpPtr& op_of(std::string_view name);

}  // namespace damo
