// The arguments of a corpus launch, as the head of the text writes them, in the kernel's terms.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/kernel.hpp>

#include "case.hpp"

namespace damo::corpus {

/// Bytes on the device, and what they are.
struct DeviceArray {
  Array bytes;
  DType dtype;
};
using DeviceArrays = std::map<std::string, DeviceArray>;

/// Throws std::runtime_error for text that is no argument.
std::vector<KernelArgument> kernel_arguments(const std::vector<std::string>& texts, const DeviceArrays& arrays);

}  // namespace damo::corpus
