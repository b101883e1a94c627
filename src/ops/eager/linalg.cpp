#include <damo/array_linalg.hpp>

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>

#include "graph/base/environment.hpp"
#include "ops/contraction.hpp"
#include "ops/einsum_products.hpp"
#include "ops/products.hpp"

namespace damo {
namespace {

struct ArrayWorld {
  using Value = Array;
  SourceLine line;  // not known

  const Shape& dims(const Array& v) const { return v.shape(); }
  DType dtype_of(const Array& v) const { return v.dtype(); }
  std::string describe(const Array& v) const { return damo::describe(v); }
  Array view(const Array& v, const std::vector<int>& pattern) const { return dimshuffle(v, pattern); }
  Array diagonal(const Array& v, int a, int b) const {
    Shape shape = v.shape();
    Strides strides = v.strides();
    strides[a] += strides[b];
    shape.erase(b);
    strides.erase(b);
    return v.view(v.dtype(), shape, strides, 0);
  }
  Array cast(const Array& v, DType dtype) const { return v.dtype() == dtype ? v : astype(v, dtype); }
  Array multiply(const Array& v, const Array& w) const { return mul(v, w); }
  Array sum(const Array& v, std::uint32_t axes) const {
    std::vector<int> list;
    for (int i = 0; i < v.rank(); ++i) {
      if (axes >> i & 1u) list.push_back(i);
    }
    return damo::sum(v, list);
  }
  Array contract(const std::string& name, const ContractionForm& form, const Array& v, const Array& w) const { return damo::contract(name, form, v, w); }
  /// Batches of them would be two passes over a third array.
  bool adds_up(const Array&, const Array&) const { return false; }
  static bool tf32() { return is_switched_on("DAMO_TF32"); }
};

void require(const char* name, std::span<const Array> operands) {
  for (const Array& operand : operands) {
    if (!operand) throw TypeError(std::string(name) + ": an operand is an empty Array", "check the Array with if (array)");
    if (!(operand.device() == operands.begin()->device())) {
      throw DeviceError(std::string(name) + ": operands lie on " + operands.begin()->device().name() + " and " + operand.device().name(), "move one of them: x.to(device)");
    }
  }
}

Products<ArrayWorld> products(const char* name, const Array& x, const Array& y, std::optional<DType> dtype) {
  const Array operands[] = {x, y};
  require(name, operands);
  return {ArrayWorld{}, name, dtype};
}

}  // namespace

Array dot(const Array& x, const Array& y, std::optional<DType> dtype) { return products("dot", x, y, dtype).dot(x, y); }
Array matmul(const Array& x, const Array& y, std::optional<DType> dtype) { return products("matmul", x, y, dtype).matmul(x, y); }
Array tensordot(const Array& x, const Array& y, int axes, std::optional<DType> dtype) { return products("tensordot", x, y, dtype).tensordot(x, y, axes); }
Array tensordot(const Array& x, const Array& y, std::vector<int> x_axes, std::vector<int> y_axes, std::optional<DType> dtype) {
  return products("tensordot", x, y, dtype).tensordot(x, y, std::move(x_axes), std::move(y_axes));
}
Array outer(const Array& x, const Array& y, std::optional<DType> dtype) { return products("outer", x, y, dtype).outer(x, y); }
Array vdot(const Array& x, const Array& y, std::optional<DType> dtype) { return products("vdot", x, y, dtype).vdot(x, y); }

Array einsum(std::string_view text, std::span<const Array> operands, std::optional<DType> dtype) {
  require("einsum", operands);
  return Einsum(ArrayWorld{}, text, std::vector<Array>(operands.begin(), operands.end()), dtype).value();
}

}  // namespace damo
