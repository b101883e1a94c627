// Cell and ThunkContext: what Op::make_thunk gets. A Cell holds one Variable's value for one running Function: its
// producer and its consumers share it. Before a thunk runs, its input cells hold values and its output cells buffers of
// the right dtype and shape, with arbitrary contents; strides may be any. The reference stays good for the thunk's life;
// the Array in the cell changes from call to call, so a thunk keeps Cell&, never an Array.
// See tests/runtime/exec/thunk_test.cpp and examples/.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <damo/array.hpp>
#include <damo/kernel.hpp>
#include <damo/op.hpp>

namespace damo {

class Cell {
 public:
  const Array& array() const { return array_; }
  operator const Array&() const { return array_; }
  DType dtype() const { return array_.dtype(); }
  const Shape& shape() const { return array_.shape(); }
  const Strides& strides() const { return array_.strides(); }
  std::int64_t size() const { return array_.size(); }
  template <class T>
  T* data() const { return static_cast<T*>(array_.data()); }

  /// For a thunk that sizes its own output: keeps the buffer if shape is the same and no caller holds it.
  void resize(const Shape& shape);

 private:
  friend class CellAccess;  // src/runtime/exec/cell_access.hpp
  Array array_;
  DType dtype_ = float32;
  Device* device_ = nullptr;
};

struct KernelSpec;    // src/runtime/kernel/spec.hpp
class SpecKernel;     // src/runtime/kernel/spec_kernel.hpp

class ThunkContext {
 public:
  virtual ~ThunkContext() = default;

  /// The cell of one of the node's inputs or outputs. Throws GraphError for any other Variable.
  virtual Cell& storage(const Variable& variable) = 0;
  virtual Device device() const = 0;
  virtual Stream stream() const = 0;

  /// A kernel of CUDA C source, for a GPU or for the CPU. The kernels that all thunks of a Function ask for are compiled
  /// together, on several threads, when every make_thunk has returned: launch it in the thunk, not in make_thunk.
  /// name: of the extern "C" __global__ function, or an instance of a template, "scale<float>". flags: -DNAME=VALUE.
  /// A source that does not compile throws CompileError from function().
  virtual Kernel compile(std::string_view source, std::string_view name, std::vector<std::string> flags = {}) = 0;

  /// A kernel that Damo generates; internal to elementwise ops.
  virtual SpecKernel& kernel(const KernelSpec& spec) = 0;
};

}  // namespace damo
