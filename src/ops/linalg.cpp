#include <damo/ops/linalg.hpp>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include "graph/user_line.hpp"
#include "ops/contraction_op.hpp"
#include "ops/diagonal.hpp"
#include "ops/einsum_products.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/products.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

struct GraphWorld {
  using Value = Variable;
  SourceLine line;

  const Shape& dims(const Variable& v) const { return v.dims(); }
  DType dtype_of(const Variable& v) const { return v.dtype(); }
  std::string describe(const Variable& v) const { return damo::describe(v); }
  Variable view(const Variable& v, const std::vector<int>& pattern) const { return dimshuffle(At(line)(v), pattern); }
  Variable diagonal(const Variable& v, int a, int b) const { return damo::diagonal(v, a, b, line); }
  Variable cast(const Variable& v, DType dtype) const { return damo::cast(At(line)(v), dtype); }
  Variable multiply(const Variable& v, const Variable& w) const { return mul(At(line)(v), At(line)(w)); }
  Variable sum(const Variable& v, std::uint32_t axes) const {
    std::vector<int> list;
    for (int i = 0; i < v.rank(); ++i) {
      if (axes >> i & 1u) list.push_back(i);
    }
    return damo::sum(At(line)(v), list);
  }
  Variable contract(const std::string& name, const ContractionForm& form, const Variable& v, const Variable& w) const { return damo::contract(name, form, v, w, line); }
  /// Elementwise work fuses, but stretches an extent of 1 that nobody knew of.
  bool adds_up(const Variable& v, const Variable& w) const { return v.dims().is_known() && v.dims() == w.dims(); }
  /// A matter of the function's options.
  static bool tf32() { return false; }
};

Variable value_of(const Operand& x) { return x.as(x.is_number() ? result_type(std::vector{x.promotable()}) : x.promotable().dtype); }

/// Numbers beside a Variable take its dtype.
struct Pair {
  Variable x, y;
  SourceLine line;
  Pair(const Operand& left, const Operand& right) : line(left.where()) {
    const Promotable both[] = {left.promotable(), right.promotable()};
    x = left.is_number() ? left.as(result_type(both)) : left.variable();
    y = right.is_number() ? right.as(result_type(both)) : right.variable();
  }
  Products<GraphWorld> products(const char* name, std::optional<DType> dtype) const { return {GraphWorld{line}, name, dtype}; }
};

}  // namespace

Variable dot(const Operand& x, const Operand& y, std::optional<DType> dtype) {
  const Pair pair(x, y);
  return pair.products("dot", dtype).dot(pair.x, pair.y);
}
Variable matmul(const Operand& x, const Operand& y, std::optional<DType> dtype) {
  const Pair pair(x, y);
  return pair.products("matmul", dtype).matmul(pair.x, pair.y);
}
Variable tensordot(const Operand& x, const Operand& y, int axes, std::optional<DType> dtype) {
  const Pair pair(x, y);
  return pair.products("tensordot", dtype).tensordot(pair.x, pair.y, axes);
}
Variable tensordot(const Operand& x, const Operand& y, std::vector<int> x_axes, std::vector<int> y_axes, std::optional<DType> dtype) {
  const Pair pair(x, y);
  return pair.products("tensordot", dtype).tensordot(pair.x, pair.y, std::move(x_axes), std::move(y_axes));
}
Variable outer(const Operand& x, const Operand& y, std::optional<DType> dtype) {
  const Pair pair(x, y);
  return pair.products("outer", dtype).outer(pair.x, pair.y);
}
Variable vdot(const Operand& x, const Operand& y, std::optional<DType> dtype) {
  const Pair pair(x, y);
  return pair.products("vdot", dtype).vdot(pair.x, pair.y);
}
Variable einsum(std::string_view text, std::initializer_list<Operand> operands, std::optional<DType> dtype) {
  std::vector<Variable> values;
  for (const Operand& operand : operands) values.push_back(value_of(operand));
  return einsum(text, values, dtype, operands.size() > 0 ? operands.begin()->where() : SourceLine());
}
Variable einsum(std::string_view text, std::span<const Variable> operands, std::optional<DType> dtype, SourceLine where) {
  return asked("einsum", [&] {
    std::vector<Variable> values;
    for (const Variable& operand : operands) values.push_back(value_of(Operand(operand, where.file, where.line)));
    return Einsum(GraphWorld{where}, text, std::move(values), dtype).value();
  }, operands, where);
}

}  // namespace damo
