// Order along an axis of Arrays, at once: what ops/sort.hpp has for Variables. See tests/function/sort_test.cpp.
#pragma once
#include <cstdint>

#include <damo/array.hpp>

namespace damo {

Array argsort(const Array& x, int axis = -1, bool descending = false);
Array sort(const Array& x, int axis = -1, bool descending = false);
struct ArrayTopK {
  Array values, positions;
};
ArrayTopK topk(const Array& x, std::int64_t count, int axis = -1, bool largest = true);
Array searchsorted(const Array& sorted, const Array& values, bool right = false);

}  // namespace damo
