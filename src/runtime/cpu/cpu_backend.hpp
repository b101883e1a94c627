// CpuBackend: the device "cpu". Compiles with Clang (a plugin, opened at the first compile), loads objects into this
// process, runs blocks on oneTBB's threads: DAMO_NUM_THREADS of them, else as many as the process may use.
//
// A generated kernel's grid.x is its number of blocks, its block is {1, 1, 1}, and each block is worth a task. A CUDA C
// kernel's blocks are run whole, several a task where they are small.
// See tests/runtime/cpu/cpu_backend_test.cpp.
#pragma once
#include "runtime/cpu/worker_pool.hpp"
#include "runtime/synchronous_backend.hpp"

namespace damo {

class CpuKernel;
namespace cpu_backend {
class LaunchCheck;
}

class CpuBackend : public SynchronousBackend {
 public:
  /// threads 0: as above. Throws OptionError for a DAMO_NUM_THREADS that is no number of threads.
  explicit CpuBackend(int threads = 0);
  ~CpuBackend() override;

  DeviceProperties properties() const override;
  /// Large copies are shared by all threads: one core does not fill the memory's bandwidth.
  void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) override;
  /// Loses nothing; kernels' faults are caught again where the program has installed handlers since.
  void reset() override;
  const Compiler& compiler() override;
  const Dialect& dialect() override;
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) override;
  void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) override;
  std::shared_ptr<const LoadedKernel> native_kernel(std::string_view name) override;
  std::unique_ptr<MatrixEngine> make_matrix_engine() override;
  std::unique_ptr<DenseSolver> make_dense_solver() override;
  std::unique_ptr<FourierEngine> make_fourier_engine() override;

 private:
  cpu_backend::LaunchCheck check_of(const CpuKernel& kernel, const LaunchConfig& config, void* const* arguments) const;

  cpu_backend::WorkerPool workers_;
};

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace damo
