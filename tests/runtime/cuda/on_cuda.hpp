// A fixture for tests that need a GPU, and the few steps that they share. Every test has the one backend of the device.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"

namespace damo::cuda_backend {

class OnCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = cuda_problem()) GTEST_SKIP() << "needs a GPU: " << *problem;
    backend_ = &shared();
  }

  /// Never destroyed, as in the library.
  static Backend& shared(int index = 0) {
    static std::unique_ptr<Backend>* const backends = new std::unique_ptr<Backend>[16];
    if (!backends[index]) backends[index] = make_cuda_backend(index);
    return *backends[index];
  }

  std::shared_ptr<const LoadedModule> load(const std::string& source, std::vector<std::string> kernels = {},
                                           SourceKind kind = SourceKind::kCudaC, std::vector<std::string> flags = {}) {
    const CompiledCode code =
        backend_->compiler().compile({source, kind, "test.cu", std::move(kernels), std::move(flags)});
    return backend_->load(code.bytes, "test.cu");
  }

  template <class T>
  T* upload(const std::vector<T>& values) {
    auto* memory = static_cast<T*>(backend_->allocate(values.size() * sizeof(T)));
    backend_->copy(memory, values.data(), values.size() * sizeof(T), CopyKind::kHostToDevice, nullptr);
    return memory;
  }
  template <class T>
  std::vector<T> download(const T* memory, std::size_t count) {
    std::vector<T> values(count);
    backend_->copy(values.data(), memory, count * sizeof(T), CopyKind::kDeviceToHost, nullptr);
    backend_->synchronize(nullptr);
    return values;
  }

  Backend* backend_ = nullptr;
};

}  // namespace damo::cuda_backend
