#include <damo/array_constant.hpp>

#include <cstddef>
#include <span>
#include <utility>

#include "graph/user_line.hpp"

namespace damo {

Variable constant(const Array& value, std::string name, SourceLine where) {
  return asked("constant", [&] {
    if (!value) throw TypeError("constant: the Array is empty", "check it with if (array)");
    ConstantData data{{value.dtype(), value.shape()}, std::vector<std::byte>(value.nbytes())};
    value.to_host(data.bytes.data());
    return constant(std::move(data), std::move(name), where);
  }, std::span<const Variable>(), where);
}

}  // namespace damo
