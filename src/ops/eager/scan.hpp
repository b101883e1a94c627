// Scan: a ScanDefinition and its compiled kernels; plans and launches. Thread-safe.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <damo/array.hpp>

#include "ops/eager/axis_groups.hpp"
#include "ops/eager/scan_text.hpp"

namespace damo {

class Scan {
 public:
  explicit Scan(ScanDefinition definition) : definition_(std::move(definition)) {}
  const ScanDefinition& definition() const { return definition_; }
  /// As Reduction's.
  void use_gpu_text() { gpu_text_ = true; }
  /// x and y: the definition's dtype, one shape and device; y may be x, or else shares no memory with it.
  void run(const Array& x, const Array& y, int axis);

 private:
  struct Kernels {
    std::shared_ptr<const LoadedKernel> scan, totals, carries;
  };
  Kernels kernels(Backend& backend, const ScanLayout& layout);

  ScanDefinition definition_;
  bool gpu_text_ = false;
  std::mutex mutex_;
  std::map<std::pair<Backend*, std::string>, Kernels> kernels_;
};

}  // namespace damo
