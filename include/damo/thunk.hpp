// Cell and ThunkContext: what Op::make_thunk gets. A Cell holds one Variable's value for one running Function: its
// producer and its consumers share it. Before a thunk runs, its input cells hold values and its output cells buffers of
// the right dtype and shape, with arbitrary contents; strides may be any. The reference stays good for the thunk's life;
// the Array in the cell changes from call to call, so a thunk keeps Cell&, never an Array.
// See tests/runtime/exec/thunk_test.cpp and examples/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
  DType dtype() const { return dtype_; }
  /// In make_thunk, before any value is there: what the executor expects, or extents that stand for unknown ones.
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t size() const { return array_.size(); }
  template <class T>
  T* data() const { return static_cast<T*>(array_.data()); }

  /// A number for this dtype, shape and strides: what a thunk worked out from them is good while it stands. Where a call
  /// has the layouts of one before, their versions come back, so a thunk may keep what it worked out for several.
  std::uint32_t version() const { return version_; }

  /// For a thunk that sizes its own output: keeps the buffer if shape is the same and no caller holds it.
  void resize(const Shape& shape);

 private:
  friend class CellAccess;  // src/runtime/exec/cell_access.hpp
  Array array_;
  Shape shape_;
  Strides strides_;
  DType dtype_ = float32;
  std::uint32_t version_ = 0, newest_ = 0;  // newest_: the greatest so far
  bool is_sized_ = false;                       // by the thunk that runs
  Device device_{static_cast<Backend*>(nullptr)};
};

struct KernelSpec;    // src/runtime/kernel/spec.hpp
struct Layout;        // src/runtime/kernel/layout.hpp
class SpecKernel;     // src/runtime/kernel/spec_kernel.hpp
class Program;        // src/runtime/exec/program.hpp
struct CodeRequests;  // src/runtime/exec/code_requests.hpp
class PendingKernels; // src/runtime/exec/node_context.hpp
struct RepeatState;   // src/runtime/exec/repeat_state.hpp

/// Says that code of the kernel for the layout will be launched, over so many elements. Gives whether there is some; if not it is compiled soon.
using WantKernel = std::function<bool(SpecKernel& kernel, const Layout& layout, std::int64_t count)>;
/// What a thunk takes of the device's memory beside its cells'.
struct ThunkMemory {
  std::size_t workspace = 0;  ///< bytes, while it runs: the executor has them ready, and what the thunk asks for through Damo comes from there
  std::size_t kept = 0;       ///< bytes that it asks for in its first run and keeps from then on
};

/// Says so of each kernel that a thunk launches where its cells have the layouts that they have. What the thunk works out from them it may keep.
using Foresight = std::function<void(const WantKernel& want)>;

class ThunkContext {
 public:
  virtual ~ThunkContext() = default;

  /// The cell of one of the node's inputs or outputs. Throws GraphError for any other Variable.
  virtual Cell& storage(const Variable& variable) = 0;
  virtual Device device() const = 0;
  virtual Stream stream() const = 0;

  /// Whether an output's cell may hold the same memory as an input's, because Op::may_run_in_place allows it.
  virtual bool runs_in_place() const { return false; }
  /// Options::fp_contract of the Function: a thunk that has graphs of its own passes it on.
  virtual bool contracts() const { return true; }
  /// Whether the input mostly is written where Op::place_in_output says, so that the thunk has nothing to do for it. That it is in a call tells its address.
  virtual bool lies_in_place(int) const { return false; }

  /// Promises that all the thunk asks of the device goes through Damo (kernels, copies, fills), that it reads nothing back, and
  /// that it never waits. Its work may then be given to the device together with other nodes' work, later in the call, as one
  /// graph, and captured by a stream of the user's. Without the promise it reaches the device when the thunk asks for it.
  virtual void promise_recordable() {}
  /// Promises besides that its work follows from the layouts and addresses of the node's cells alone: a call whose addresses
  /// are those of one before may leave the thunk out and repeat its work.
  virtual void promise_repeatable() {}
  /// Promises that no work but this reads or writes what its own writes, and none writes what it reads, except through the node's
  /// cells and memory that the thunk asks Damo for while it runs: of a replayed graph the device may then run it beside other nodes' work. In a loop the thunk runs
  /// once a step, and each run's work is other work to the next one: memory that it keeps from run to run to write to is no such memory. A run that calls a
  /// Function, whose memory other nodes may share, is taken for one without this promise.
  virtual void promise_contained() {}

  /// A kernel of CUDA C source, for a GPU or for the CPU. The kernels that all thunks of a Function ask for are compiled
  /// together, on several threads, when every make_thunk has returned: launch it in the thunk, not in make_thunk.
  /// name: of the extern "C" __global__ function, or an instance of a template, "scale<float>". flags: -DNAME=VALUE.
  /// A source that does not compile throws CompileError from function().
  virtual Kernel compile(std::string_view source, std::string_view name, std::vector<std::string> flags = {}) = 0;

  /// A kernel that Damo generates, for generated ops: foresee() tells in which layouts.
  virtual SpecKernel& kernel(const KernelSpec& spec) = 0;
  /// The same kernel for all nodes that ask with the same spec.
  virtual SpecKernel& kernel(std::shared_ptr<const KernelSpec> spec) = 0;
  /// kernels: asked behind make_thunk, with layouts that the executor expects, and again where a call's layouts are new, before the first node runs. What all nodes'
  /// thunks want is compiled together; what it does not say a thunk compiles when it runs. Of several the last one counts.
  virtual void foresee(Foresight kernels) = 0;
  /// The same, asked with layouts of calls alone: of work that is not worth a guess.
  virtual void foresee_calls(Foresight kernels) = 0;
  /// code: asked behind make_thunk, with layouts that the executor expects: what the thunk will have compiled at a call with these, not through foresee(). It is compiled beside
  /// the kernels that function() waits for, as far as there are threads for it, and the kernel cache has it when the thunk asks. Opens no library. Of several the last one counts.
  virtual void foresee_code(std::function<CodeRequests()> code) = 0;
  /// memory: asked with the layouts of a call, behind foresee()'s kernels, which are compiled then, and before the first node runs. The bytes of workspace are part of
  /// the plan that Function::plan prints and that is refused where it does not fit, and they share memory with other nodes' values: while the thunk runs, all Arrays that are made
  /// in its thread have their memory there, as long as there is room, and must be gone when it returns. A thunk that does not say it asks the device's pool while it runs.
  /// Of several the last one counts.
  virtual void foresee_memory(std::function<ThunkMemory()> memory) = 0;
  /// Where kernels tell that a value which they store in a guarded output is not finite (KernelSpec::guarded): a 32-bit number that becomes 1, as the device addresses it. The same
  /// for all thunks of a running Function, which looks at it when all is computed (Options::nan_guard).
  virtual void* fault_flag() = 0;
  /// For a thunk whose work is repeatable while what stands here is the same, or which asks a report before each run.
  virtual RepeatState& repeat_state() = 0;
  /// Where a Context that make_thunk makes asks for its kernels, which then are compiled with those of the graph around it.
  virtual PendingKernels& pending() = 0;
  /// A graph that the thunk runs: what kernels it has count as the node's, for explain() and report().
  virtual void runs(std::shared_ptr<const Program> program) = 0;
};

}  // namespace damo
