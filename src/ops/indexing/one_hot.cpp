#include <cstring>

#include <damo/ops/cast.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "ops/gradient_parts.hpp"

namespace damo {

Variable one_hot(const Operand& positions, std::int64_t count, DType dtype) {
  const Variable at = positions.as(positions.promotable().dtype);
  if (!is_integer(at.dtype())) throw TypeError("one_hot: positions are integers, these are " + describe(at), "cast(positions, int64)");
  if (count < 0) throw ShapeError("one_hot: the count is " + std::to_string(count), "it is 0 or more");
  ConstantData places{{int64, {count}}, std::vector<std::byte>(static_cast<std::size_t>(count) * sizeof(std::int64_t))};
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(places.bytes.data() + i * 8, &i, sizeof i);
  const At line(positions.where());
  const Variable column = cast_at(expand_dims(line(at), -1), int64, positions.where());
  return cast_at(eq(line(column), line(constant(std::move(places), {}, positions.where()))), dtype, positions.where());
}

}  // namespace damo
