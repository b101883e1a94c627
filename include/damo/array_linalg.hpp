// Products of Arrays, at once: see ops/linalg.hpp for what they mean. Operands lie on one device, else DeviceError; results are new
// arrays there. float32 products may use TF32 where DAMO_TF32 is 1. See tests/linalg/linalg_test.cpp.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <damo/array.hpp>

namespace damo {

Array dot(const Array& x, const Array& y, std::optional<DType> dtype = {});
Array matmul(const Array& x, const Array& y, std::optional<DType> dtype = {});
Array tensordot(const Array& x, const Array& y, int axes = 2, std::optional<DType> dtype = {});
Array tensordot(const Array& x, const Array& y, std::vector<int> x_axes, std::vector<int> y_axes, std::optional<DType> dtype = {});
Array outer(const Array& x, const Array& y, std::optional<DType> dtype = {});
Array vdot(const Array& x, const Array& y, std::optional<DType> dtype = {});
Array einsum(std::string_view text, std::span<const Array> operands, std::optional<DType> dtype = {});
inline Array einsum(std::string_view text, std::initializer_list<Array> operands, std::optional<DType> dtype = {}) { return einsum(text, std::span(operands.begin(), operands.size()), dtype); }

}  // namespace damo
