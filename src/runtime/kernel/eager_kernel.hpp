// EagerKernel: a generated kernel that is launched on Arrays, outside of any graph. It keeps the last few layouts that it was bound to, so that a call with
// shapes seen before compares shapes, patches pointers and launches. Thread-safe; the kernel runs outside of any lock.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <damo/array.hpp>

#include "runtime/kernel/spec_kernel.hpp"
#include "runtime/memory/fork_safe_mutex.hpp"

namespace damo {

/// One input as the kernel takes it: an array, or a number already of its dtype.
struct EagerInput {
  const Array* array = nullptr;
  Scalar number;
  DType dtype() const { return array ? array->dtype() : number.dtype(); }
};

class EagerKernel {
 public:
  EagerKernel(KernelSpec spec, Backend& backend) : kernel_(std::move(spec), backend) {}
  /// inputs broadcast to out's shape.
  void run(std::span<const EagerInput> inputs, const Array& out) { run(inputs, out, out.shape(), 0); }
  /// Of a spec that reduces: inputs and outputs, which have one shape, broadcast to space; bit a of reduced_axes: axis a.
  void run(std::span<const EagerInput> inputs, std::span<const Array> outs, const Shape& space, std::uint32_t reduced_axes);
  void run(std::span<const EagerInput> inputs, const Array& out, const Shape& space, std::uint32_t reduced_axes) { run(inputs, std::span(&out, 1), space, reduced_axes); }
  /// The scratch of a run with arrays of these layouts, of the inputs and of the outputs, none of which is another one.
  std::size_t scratch_bytes(std::span<const ArrayLayout> layouts, const Shape& space, std::uint32_t reduced_axes);

 private:
  struct Call {
    std::span<const EagerInput> inputs;
    std::span<const Array> outs;
    const Shape& space;
    std::uint32_t reduced_axes;
  };
  struct Binding {
    explicit Binding(SpecKernel& kernel) : bound(kernel) {}
    BoundKernel bound;
    std::vector<Shape> shapes;  // of the arrays among the inputs, then of the outputs
    std::vector<Strides> strides;
    Shape space;
    std::uint32_t reduced_axes = 0;
    bool in_place = false;
    bool fits(const Call& call) const;
  };
  std::unique_ptr<Binding> take(const Call& call);
  std::unique_ptr<Binding> bind(const Call& call);
  void keep(std::unique_ptr<Binding> binding);

  static constexpr std::size_t kBindings = 8;
  SpecKernel kernel_;
  ForkSafeMutex mutex_;
  std::vector<std::unique_ptr<Binding>> idle_;  // last used last
};

}  // namespace damo
