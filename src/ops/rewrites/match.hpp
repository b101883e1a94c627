// What Damo's rules are written with: the rows' ops by name, and patterns of a few nodes.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <damo/ops/subtensor.hpp>
#include <damo/rewrite.hpp>
#include "ops/elementwise_op.hpp"

namespace damo {

class SymbolicShapes;

/// The ops of the built-in rows: rows().exp computes every exp of a graph.
struct RowOps {
#define DAMO_ROW1(row, ...) OpPtr row = op_of(#row);
#define DAMO_ROW2 DAMO_ROW1
#define DAMO_ROW3 DAMO_ROW1
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3
};
inline const RowOps& rows() {
  static const RowOps ops;
  return ops;
}

/// The node's first and second input; kNone where the value is not made by that op.
struct Pair {
  ValueId first = ValueId::kNone, second = ValueId::kNone;
  explicit operator bool() const { return first != ValueId::kNone; }
  Pair swapped() const { return {second, first}; }
};
inline Pair pair_of(const Site& site, ValueId value, const OpPtr& op) { return site.made_by(value, *op) ? Pair{site.input_of(value, 0), site.input_of(value, 1)} : Pair{}; }
/// Of an op of one input; kNone where the value is not made by it.
inline ValueId inside(const Site& site, ValueId value, const OpPtr& op) { return site.made_by(value, *op) ? site.input_of(value) : ValueId::kNone; }

/// The number that the value is; NaN if it is none.
inline double number_of(const Site& site, ValueId value) { return site.graph().is_literal(value) ? site.graph().number(value).as_double() : std::nan(""); }
/// By value: 0.0 and -0.0 are equal.
inline bool is_number(const Site& site, ValueId value, double number) { return number_of(site, value) == number; }
/// The operand beside that number, of an op of two that commutes; kNone if neither is the number.
inline ValueId beside(const Site& site, ValueId value, const OpPtr& op, double number) {
  const Pair pair = pair_of(site, value, op);
  if (!pair) return ValueId::kNone;
  return is_number(site, pair.second, number) ? pair.first : is_number(site, pair.first, number) ? pair.second : ValueId::kNone;
}

/// What a rule gives, if dtype and extents are those of the node; else nothing, and the node stays.
Variable if_fits(Site& site, const Variable& made);
inline Variable if_fits(Site& site, ValueId value) { return value == ValueId::kNone ? Variable() : if_fits(site, site.operand(value)); }
/// Whether both values are there, floating and of one dtype: then no promotion hides between them.
bool are_floats(const Site& site, ValueId a, ValueId b);
inline bool has_one_dtype(const Site& site, ValueId a, ValueId b) { return site.type(a).dtype == site.type(b).dtype; }
/// Whether the value cannot stretch any other one, nor be refused beside it: a number, or extents known to be 1.
bool is_single(const Site& site, ValueId value);
/// What Rule::reads and Rule::takes want: one of these very ops.
inline std::function<bool(const Op&)> is_one_of(std::vector<OpPtr> ops) {
  return [ops = std::move(ops)](const Op& op) { return std::any_of(ops.begin(), ops.end(), [&](const OpPtr& of) { return of.get() == &op; }); };
}
/// Whether a dimshuffle of that pattern leaves all axes where they are; a new one may stand for one that is left out there, both have extent 1.
bool changes_nothing(const std::vector<int>& pattern, int rank);
/// Whether an index leaves its axis as it is.
inline bool takes_all(const Index& index) { return !index.is_position() && !index.slice().start && !index.slice().stop && index.slice().step == 1; }
/// A number of the dtype.
Variable number(double value, DType dtype);

/// Lists of rules, in their order within the pass `simplify`.
std::vector<Rule> useless_rules(), view_rules(), part_rules(), folding_rules(), algebra_rules(bool reassociates), stability_rules(), sum_rules();
/// Of the pass `pad_fills`. shapes: of the graph that they are applied to; null: none is known but by types.
std::vector<Rule> pad_rules(std::shared_ptr<const SymbolicShapes> shapes = nullptr);

}  // namespace damo
