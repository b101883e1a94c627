// InclusiveScanKernel, ExclusiveScanKernel: running values along an axis, joined by a C snippet, on a GPU and on the
// CPU:
//
//   const InclusiveScanKernel running_sum(int32, "a + b");
//   running_sum(x)                       // 1 2 3 -> 1 3 6
//   const ExclusiveScanKernel before(int32, "a + b", "0");
//   before(x, 0)                         // 1 2 3 -> 0 1 3; along axis 0
//   running_sum.into(x, x);              // in place
//
// a is the value of what comes earlier, b of what follows; the operation must be associative and need not be
// commutative. Values are kept in the dtype, float16 and bfloat16 in float. Arrays may have any strides. Each
// element is read once and written once. Results are the same at every call. TypeError for another
// dtype, ShapeError for an axis that does not exist, CompileError with the user's line at the first call. cumsum and
// its kin are ready made (array_scan.hpp). See tests/ops/eager/scan_kernel_test.cpp.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/source_text.hpp>

namespace damo {

struct ScanKernelOptions {
  std::string name = "scan";
  SourceText preamble;             ///< CUDA C before the kernels
  std::vector<std::string> flags;  ///< "-DNAME=VALUE"
};

class ScanKernel {
 public:
  /// Along the axis, the last unless told: a new array of the same shape.
  Array operator()(const Array& x, int axis = -1) const;
  /// Into y, of the same shape and dtype, which may be x.
  void into(const Array& x, const Array& y, int axis = -1) const;

 protected:
  ScanKernel(DType dtype, SourceText operation, SourceText neutral, bool exclusive, ScanKernelOptions options);

 private:
  struct Data;
  std::shared_ptr<Data> data_;
};

class InclusiveScanKernel : public ScanKernel {
 public:
  InclusiveScanKernel(DType dtype, SourceText operation, ScanKernelOptions options = {})
      : ScanKernel(dtype, std::move(operation), SourceText(), false, std::move(options)) {}
};

class ExclusiveScanKernel : public ScanKernel {
 public:
  /// neutral: the first value of every line.
  ExclusiveScanKernel(DType dtype, SourceText operation, SourceText neutral, ScanKernelOptions options = {})
      : ScanKernel(dtype, std::move(operation), std::move(neutral), true, std::move(options)) {}
};

}  // namespace damo
