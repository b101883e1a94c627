// Module: CUDA C compiled at run time, by NVRTC for a GPU and by Clang for the CPU, and loaded on a device.
//
//   Module module(cuda(), R"(
//     __global__ void multiply_them(float* dest, const float* a, const float* b) {
//       const int i = threadIdx.x;
//       dest[i] = a[i] * b[i];
//     })");
//   module.kernel("multiply_them")({.block = {400}}, Out(dest), In(a), In(b));
//
// Kernels are found by the names in the text, with or without extern "C"; one in a namespace as "space::name" or, if no
// other has it, as "name". Of kernels that share a name each is found by its type, "(void (*)(float*))name", as kernel_names()
// has it. Instances of templates, and other expressions that NVRTC takes, are named in ModuleOptions::kernels, with any blanks.
// Each Module has variables of its own, also beside another of equal text; compiled code is shared and kept on disk. A compile
// error is a CompileError with the compiler's log, lines and columns those of the text, and the lines around; warnings are in
// log() and in Damo's log. Cheap to copy; loaded as long as a copy, a Kernel or a Global of it lives. Thread-safe.
// See tests/runtime/cuda/module_test.cpp.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <damo/device.hpp>
#include <damo/global.hpp>
#include <damo/kernel.hpp>
#include <damo/module_options.hpp>
#include <damo/source_text.hpp>

namespace damo {

/// One part of a linked module: CUDA C, or a file of it (.cu), or of code for a GPU (.ptx .cubin .fatbin .o .a).
class LinkInput {
 public:
  LinkInput(SourceText source, std::string name = {});
  LinkInput(const char* source, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : LinkInput(SourceText(source, file, line)) {}
  /// Throws OptionError if it cannot be read.
  static LinkInput file(const std::string& path);

  enum class Kind { kSource, kPtx, kCubin, kFatbin, kObject, kLibrary };
  Kind kind() const { return kind_; }
  /// The file's, or what messages should call the text.
  const std::string& name() const { return name_; }
  /// Text, or bytes of code.
  const std::string& contents() const { return contents_; }
  SourceLine where() const { return where_; }

 private:
  LinkInput() = default;
  Kind kind_ = Kind::kSource;
  std::string name_, contents_;
  SourceLine where_;
};

class Module {
 public:
  /// Throws CompileError; DeviceError where there is no compiler.
  Module(Device device, SourceText source, ModuleOptions options = {});
  /// Of a file; its directory is searched for what it includes. Throws OptionError if it cannot be read.
  static Module from_file(Device device, const std::string& path, ModuleOptions options = {});
  /// Several sources as one module: functions and variables that one declares may be defined in another. On a GPU each is
  /// compiled by itself (-rdc=true) and all are linked. On the CPU the texts are compiled as one, in their order, so
  /// static names must differ; code for a GPU cannot run there: DeviceError.
  static Module link(Device device, const std::vector<LinkInput>& inputs, ModuleOptions options = {});
  /// A file of PTX, a cubin or a fatbin. Throws DeviceError on a device that is no GPU.
  static Module load(Device device, const std::string& path);

  Device device() const;
  /// Throws DeviceError that names those there are; for a name that several have, with their lines and how to name one.
  Kernel kernel(std::string_view name) const;
  /// Sorted, each as kernel() finds it. Of ready machine code: those that the driver tells, from CUDA 12.4 on.
  std::vector<std::string> kernel_names() const;
  /// A __device__ or __constant__ variable, by its name as a kernel's, static or not; of a variable template an instance
  /// that kernels use, "mask<float>". Throws DeviceError if there is none.
  Global global(std::string_view name) const;
  bool has_global(std::string_view name) const;
  /// The compiler's warnings; empty if there are none.
  const std::string& log() const;
  /// As it was given; of linked ones all, one after another.
  const std::string& source() const;

 private:
  struct Data;
  std::pair<void*, std::size_t> find_global(std::string_view name) const;
  explicit Module(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace damo
