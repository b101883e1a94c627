// How a row's operands come to one dtype, whatever they are: a Variable or an Array, and numbers beside them.
#pragma once
#include <algorithm>
#include <span>
#include <string>

#include <damo/error.hpp>
#include <damo/graph_lists.hpp>

#include "ops/comparisons.hpp"
#include "ops/rows.hpp"

namespace damo {

/// The usual row has so few that a call on Arrays asks for no memory.
using Promotables = SmallList<Promotable, 8>;

/// A weak integer that its dtype cannot hold would wrap in silence.
template <class Operand>
bool is_too_large(const Operand& operand, DType dtype) {
  return operand.is_number() && is_integer(operand.number().dtype()) && !is_floating(dtype) &&
         !operand.number().fits(dtype);
}

/// Whether y may be written into elements of x's dtype: a dtype that this one takes in, and a number that it holds. TypeError, beginning with user, otherwise.
template <class Operand>
void require_stays(const std::string& user, DType x, const Operand& y) {
  if (is_too_large(y, x)) throw TypeError(user + ": " + to_string(y.number()) + " does not fit " + std::string(name(x)), "cast x to a wider dtype");
  const Promotable both[] = {{x}, y.promotable()};
  if (result_type(both) == x) return;
  const std::string what = y.is_number() ? to_string(y.number()) : "y, " + std::string(name(both[1].dtype)) + ",";
  throw TypeError(user + ": " + what + " would not stay what it is in x, which is " + std::string(name(x)), "cast y to " + std::string(name(x)) + ", which cuts it off, or x to a dtype that holds both");
}

/// What a row promotes inputs of these dtypes to, its condition left out. A floating row looks, as NumPy does, for the first floating dtype that takes
/// each of them: int8 and uint8 meet in float16, not in int16, whose is float32.
inline DType promoted_dtype(const ElementwiseRow& row, Promotables inputs) {
  const DType common = result_type(inputs);
  if (row.result != ResultRule::kFloating || is_floating(common)) return common;
  for (Promotable& input : inputs) input.dtype = floating_of(input.dtype);
  return result_type(inputs);
}

/// The dtype that numbers beside the inputs become. As in NumPy, a comparison with a number out of range widens; what
/// is computed in floating point takes any number; anything else refuses it with a TypeError.
template <class Operand>
DType common_dtype(const ElementwiseRow& row, std::span<const Operand> inputs) {
  Promotables promotables;
  for (const Operand& input : inputs) promotables.push_back(input.promotable());
  if (promotables.empty()) return bool_;
  const DType common = result_type(promotables);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_too_large(inputs[i], computed_in(row, common))) continue;
    if (row.result != ResultRule::kBool) {
      ErrorParts parts{
          row.name + ": " + to_string(inputs[i].number()) + " does not fit " + std::string(name(common)),
          {},
          {},
          "cast the other input to a wider dtype"};
      for (const Operand& input : inputs) {
        if (input.is_number()) continue;
        if constexpr (requires { input.variable(); }) parts.operands.push_back(describe(input.variable()));
        else parts.operands.push_back(describe(input.array()));
      }
      if (inputs[i].where()) parts.where = row.name + " built at " + to_string(inputs[i].where());
      throw TypeError(std::move(parts));
    }
    promotables[i].weak = false;
  }
  return result_type(promotables);
}

/// What a number beside the inputs becomes where they promote to common (common_dtype). Beside integers that promote to float64 a comparison leaves it what it is:
/// float64 would round it, and the comparison is exact (comparisons.hpp).
template <class Operand>
DType dtype_of_number(const ElementwiseRow& row, std::span<const Operand> inputs, const Operand& number, DType common) {
  const auto is_integers = [](const Operand& input) { return is_integer(input.promotable().dtype); };
  if (is_comparison(row) && is_floating(common) && std::all_of(inputs.begin(), inputs.end(), is_integers)) return number.number().dtype();
  return is_too_large(number, common) ? computed_in(row, common) : common;
}

}  // namespace damo
