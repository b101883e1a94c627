#include "runtime/array/copy_kernel.hpp"

#include <array>

#include "runtime/kernel/eager_kernel.hpp"

namespace damo {

KernelSpec copy_spec(std::size_t bytes) {
  KernelSpec spec;
  spec.name = "copy";
  spec.inputs = spec.outputs = {bytes == 1 ? uint8 : bytes == 2 ? uint16 : bytes == 4 ? uint32 : uint64};
  spec.stores = {0};
  return spec;
}

namespace {

/// A device's, until it is reset.
class CopyKernels final : public Companion {
 public:
  explicit CopyKernels(Backend& backend) : kernels_{{{copy_spec(1), backend}, {copy_spec(2), backend}, {copy_spec(4), backend}, {copy_spec(8), backend}}} {}
  EagerKernel& of_size(std::size_t bytes) { return kernels_[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3]; }

 private:
  std::array<EagerKernel, 4> kernels_;
};

}  // namespace

void copy_by_kernel(const Array& to, const Array& from) {
  const EagerInput inputs[] = {{&from, {}}};
  to.device().backend().companion<CopyKernels>()->of_size(itemsize(to.dtype())).run(inputs, to);
}

}  // namespace damo
