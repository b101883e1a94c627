#include "runtime/cpu/onednn_library.hpp"

#include <dlfcn.h>

#include <array>
#include <utility>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/library/dynamic_library.hpp"

namespace damo::cpu_backend {
namespace {

// Values of the C interface's enumerations, the same in versions 2 and 3.
constexpr int kUnimplemented = 3;
constexpr unsigned kSequential = 1, kOpenMp = 2;               // what a library was built for
constexpr int kCpuEngine = 1, kUsersScratchpad = 1, kScratchpadDescriptor = 136;
constexpr unsigned kInOrder = 1;
constexpr int kBfloat16 = 2, kFloat32 = 3;
constexpr int kSource = 1, kWeights = 33, kDestination = 17, kScratchpad = 80;
/// Sets of instructions, of which one has the bits of those that it contains.
constexpr int kVnni512 = 0x67, kBfloat512 = 0xe7;

struct OneDnnVersion {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};
struct OneDnnArgument {
  int number;
  void* memory;
};

struct OneDnnFunctions {
  const OneDnnVersion* (*version)() = nullptr;
  int (*effective_isa)() = nullptr;
  int (*engine_create)(void** engine, int kind, std::size_t index) = nullptr;
  int (*stream_create)(void** stream, void* engine, unsigned flags) = nullptr;
  int (*stream_destroy)(void* stream) = nullptr;
  int (*attributes_create)(void** attributes) = nullptr;
  int (*attributes_destroy)(void* attributes) = nullptr;
  int (*set_scratchpad_mode)(void* attributes, int mode) = nullptr;
  int (*primitive_create)(void** primitive, const void* description) = nullptr;
  int (*primitive_destroy)(void* primitive) = nullptr;
  int (*description_destroy)(void* description) = nullptr;
  const void* (*query_matrix)(const void* description, int what, int index) = nullptr;
  std::size_t (*bytes_of)(const void* matrix) = nullptr;
  int (*memory_create)(void** memory, const void* matrix, void* engine, void* address) = nullptr;
  int (*memory_destroy)(void* memory) = nullptr;
  int (*execute)(const void* primitive, void* stream, int count, const OneDnnArgument* arguments) = nullptr;
  // Version 2: structures by value, of sizes that the caller knows.
  int (*matrix_init)(void* matrix, int rank, const std::int64_t* extents, int dtype, const std::int64_t* strides) = nullptr;
  int (*matmul_init)(void* matmul, const void* a, const void* b, const void* bias, const void* c) = nullptr;
  int (*description_create)(void** description, const void* matmul, const void* attributes, void* engine, const void* hint) = nullptr;
  // Version 3.
  int (*matrix_create)(void** matrix, int rank, const std::int64_t* extents, int dtype, const std::int64_t* strides) = nullptr;
  int (*matrix_destroy)(void* matrix) = nullptr;
  int (*matmul_create)(void** description, void* engine, const void* a, const void* b, const void* bias, const void* c, const void* attributes) = nullptr;
  // OpenMP's, of the library that oneDNN calls. Null: oneDNN has no threads.
  void (*set_threads)(int count) = nullptr;
  int (*threads)() = nullptr;
};

struct OpenedOneDnn {
  bool is_there = false;
  OneDnnLibrary library;
  OneDnnFunctions functions;
  std::string absence = {};
  void* engine = nullptr;  // never destroyed: primitives of other threads may outlive what would do it
};

/// A library that the program was linked with comes before oneDNN's own dependency, for oneDNN's calls as for this look-up.
template <class Function>
bool find_openmp(DynamicLibrary& opened, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  return function || opened.find_optional(name, function);
}

void find_functions(DynamicLibrary& opened, OneDnnFunctions& f, bool is_version2) {
  opened.find("dnnl_get_effective_cpu_isa", f.effective_isa);
  opened.find("dnnl_engine_create", f.engine_create);
  opened.find("dnnl_stream_create", f.stream_create);
  opened.find("dnnl_stream_destroy", f.stream_destroy);
  opened.find("dnnl_primitive_attr_create", f.attributes_create);
  opened.find("dnnl_primitive_attr_destroy", f.attributes_destroy);
  opened.find("dnnl_primitive_attr_set_scratchpad_mode", f.set_scratchpad_mode);
  opened.find("dnnl_primitive_create", f.primitive_create);
  opened.find("dnnl_primitive_destroy", f.primitive_destroy);
  opened.find("dnnl_primitive_desc_destroy", f.description_destroy);
  opened.find("dnnl_primitive_desc_query_md", f.query_matrix);
  opened.find("dnnl_memory_desc_get_size", f.bytes_of);
  opened.find("dnnl_memory_create", f.memory_create);
  opened.find("dnnl_memory_destroy", f.memory_destroy);
  opened.find("dnnl_primitive_execute", f.execute);
  if (is_version2) {
    opened.find("dnnl_memory_desc_init_by_strides", f.matrix_init);
    opened.find("dnnl_matmul_desc_init", f.matmul_init);
    opened.find("dnnl_primitive_desc_create", f.description_create);
  } else {
    opened.find("dnnl_memory_desc_create_with_strides", f.matrix_create);
    opened.find("dnnl_memory_desc_destroy", f.matrix_destroy);
    opened.find("dnnl_matmul_primitive_desc_create", f.matmul_create);
  }
}

/// Why it is not taken; empty if it is.
std::string open_onednn(const std::string& file, OpenedOneDnn& result) {
  DynamicLibrary opened(file);
  OneDnnFunctions& f = result.functions = {};
  opened.find("dnnl_version", f.version);
  opened.find("dnnl_sgemm", result.library.sgemm);
  opened.find("dnnl_gemm_s8s8s32", result.library.gemm_s8s8s32);
  std::string problem = opened.problem();
  if (problem.empty()) {
    const OneDnnVersion& version = *f.version();
    const std::string number = std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
    result.library.name = "oneDNN " + number + ", " + file;
    find_functions(opened, f, version.major == 2);
    problem = opened.problem();
    if (version.major != 2 && version.major != 3) problem = file + " is oneDNN " + number + ", of which Damo knows versions 2 and 3";
    else if (version.cpu_runtime != kSequential && version.cpu_runtime != kOpenMp) problem = file + " is built for threads that are not OpenMP's";
    else if (problem.empty() && version.cpu_runtime == kOpenMp && !(find_openmp(opened, "omp_set_num_threads", f.set_threads) && find_openmp(opened, "omp_get_max_threads", f.threads)))
      problem = file + " has no omp_set_num_threads";
  }
  if (problem.empty() && f.engine_create(&result.engine, kCpuEngine, 0) != 0) problem = file + " has no engine for the CPU";
  if (!problem.empty()) {
    opened.reject();
    return problem;
  }
  const int isa = f.effective_isa();
  result.library.has_bfloat16 = (isa & kBfloat512) == kBfloat512;
  result.library.has_int8 = (isa & kVnni512) == kVnni512;
  result.is_there = true;
  return {};
}

OpenedOneDnn open_onednn() {
  OpenedOneDnn result;
  // Nor has any processor without these instructions those for bfloat16 that are used here.
  if (!__builtin_cpu_supports("avx512vnni")) return result.absence = "this processor has no instructions for bfloat16 and int8", result;
  const std::string chosen = environment("DAMO_ONEDNN_PATH");
  if (chosen == "none") return result.absence = "DAMO_ONEDNN_PATH is none", result;
  if (!chosen.empty()) {
    if (const std::string problem = open_onednn(chosen, result); !problem.empty())
      throw DeviceError("DAMO_ONEDNN_PATH is '" + chosen + "', which cannot be used: " + problem, "give the file of oneDNN 2 or 3, or none");
    return result;
  }
  for (const char* file : {"libdnnl.so.3", "libdnnl.so.3.6", "libdnnl.so.2"}) {
    const std::string problem = open_onednn(file, result);
    if (problem.empty()) return result.absence.clear(), result;
    result.absence += (result.absence.empty() ? "" : "; ") + problem;
  }
  log(LogLevel::kInfo, "cpu: no oneDNN (" + result.absence + "): products of bfloat16 and int8 do not use this processor's instructions for them, and are slower; " + kInstallOneDnn);
  return result;
}

const OpenedOneDnn& opened_onednn() {
  static const OpenedOneDnn result = open_onednn();
  return result;
}
const OneDnnFunctions& onednn_functions() { return opened_onednn().functions; }

/// What describes a matrix: version 2 fills a structure of 696 bytes, version 3 has an object of its own. Not moved once it is described.
class MatrixDescriptor {
 public:
  MatrixDescriptor(std::int64_t rows, std::int64_t columns, MatrixStrides strides, DType dtype) {
    const std::int64_t extents[] = {rows, columns}, steps[] = {strides.row, strides.column};
    const int type = dtype == bfloat16 ? kBfloat16 : kFloat32;
    const OneDnnFunctions& f = onednn_functions();
    if (f.matrix_init) check_onednn(f.matrix_init(structure_.data(), 2, extents, type, steps), "dnnl_memory_desc_init_by_strides");
    else check_onednn(f.matrix_create(&object_, 2, extents, type, steps), "dnnl_memory_desc_create_with_strides");
  }
  MatrixDescriptor(const MatrixDescriptor&) = delete;
  MatrixDescriptor& operator=(const MatrixDescriptor&) = delete;
  ~MatrixDescriptor() {
    if (object_) onednn_functions().matrix_destroy(object_);
  }
  const void* get() const { return object_ ? object_ : structure_.data(); }

 private:
  alignas(16) std::array<std::byte, 2048> structure_{};
  void* object_ = nullptr;
};

/// One of the library's objects and what gives it back.
class OneDnnObject {
 public:
  explicit OneDnnObject(int (*destroy)(void*)) : destroy_(destroy) {}
  OneDnnObject(const OneDnnObject&) = delete;
  OneDnnObject& operator=(const OneDnnObject&) = delete;
  ~OneDnnObject() {
    if (object_) destroy_(object_);
  }
  void** to_fill() { return &object_; }
  void* get() const { return object_; }

 private:
  int (*destroy_)(void*);
  void* object_ = nullptr;
};

class Matmul final : public OneDnnMatmul {
 public:
  Matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixStrides a, MatrixStrides b, MatrixStrides c, DType result)
      : a_(m, k, a, bfloat16), b_(k, n, b, bfloat16), c_(m, n, c, result), description_(onednn_functions().description_destroy), primitive_(onednn_functions().primitive_destroy) {}

  /// False if the library has none.
  bool create() {
    const OneDnnFunctions& f = onednn_functions();
    OneDnnObject attributes(f.attributes_destroy);
    check_onednn(f.attributes_create(attributes.to_fill()), "dnnl_primitive_attr_create");
    check_onednn(f.set_scratchpad_mode(attributes.get(), kUsersScratchpad), "dnnl_primitive_attr_set_scratchpad_mode");
    const int status = describe(attributes.get());
    if (status == kUnimplemented) return false;
    check_onednn(status, "a description of a matrix product");
    check_onednn(f.primitive_create(primitive_.to_fill(), description_.get()), "dnnl_primitive_create");
    scratchpad_ = f.query_matrix(description_.get(), kScratchpadDescriptor, 0);
    scratch_bytes_ = scratchpad_ ? f.bytes_of(scratchpad_) : 0;
    return true;
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const void* a, const void* b, void* c, void* scratch) const override {
    const OneDnnFunctions& f = onednn_functions();
    OneDnnObject of_a(f.memory_destroy), of_b(f.memory_destroy), of_c(f.memory_destroy), of_scratch(f.memory_destroy), stream(f.stream_destroy);
    const auto memory = [&](OneDnnObject& made, const void* matrix, const void* address) {
      check_onednn(f.memory_create(made.to_fill(), matrix, opened_onednn().engine, const_cast<void*>(address)), "dnnl_memory_create");
      return made.get();
    };
    check_onednn(f.stream_create(stream.to_fill(), opened_onednn().engine, kInOrder), "dnnl_stream_create");
    OneDnnArgument arguments[] = {{kSource, memory(of_a, a_.get(), a)}, {kWeights, memory(of_b, b_.get(), b)}, {kDestination, memory(of_c, c_.get(), c)}, {}};
    const int count = scratch_bytes_ > 0 ? 4 : 3;
    if (count == 4) arguments[3] = {kScratchpad, memory(of_scratch, scratchpad_, scratch)};
    check_onednn(f.execute(primitive_.get(), stream.get(), count, arguments), "dnnl_primitive_execute");  // on a CPU it is done when this returns
  }

 private:
  int describe(const void* attributes) {
    const OneDnnFunctions& f = onednn_functions();
    if (f.matmul_create) return f.matmul_create(description_.to_fill(), opened_onednn().engine, a_.get(), b_.get(), nullptr, c_.get(), attributes);
    alignas(16) std::array<std::byte, 16384> matmul{};  // of 2,800 bytes in version 2.6
    if (const int status = f.matmul_init(matmul.data(), a_.get(), b_.get(), nullptr, c_.get()); status != 0) return status;
    return f.description_create(description_.to_fill(), matmul.data(), attributes, opened_onednn().engine, nullptr);
  }

  MatrixDescriptor a_, b_, c_;
  OneDnnObject description_, primitive_;
  const void* scratchpad_ = nullptr;  // the description's
  std::size_t scratch_bytes_ = 0;
};

}  // namespace

const std::string& onednn_absence() { return opened_onednn().absence; }

const OneDnnLibrary* onednn() { return opened_onednn().is_there ? &opened_onednn().library : nullptr; }

void check_onednn(int status, const char* function) {
  if (status == 0) return;
  static constexpr const char* kReasons[] = {"", "out of memory", "invalid arguments", "unimplemented", "no more of them", "a fault in the library", "not required"};
  const bool is_known = status > 0 && status < static_cast<int>(std::size(kReasons));
  throw DeviceError(std::string("oneDNN: ") + function + " failed: " + (is_known ? kReasons[status] : "status " + std::to_string(status)), "DAMO_ONEDNN_PATH=none computes without it");
}

OneDnnThread::OneDnnThread() {
  const OneDnnFunctions& f = onednn_functions();
  if (!f.set_threads) return;
  before_ = f.threads();
  if (before_ != 1) f.set_threads(1);
}

OneDnnThread::~OneDnnThread() {
  if (before_ > 1) onednn_functions().set_threads(before_);
}

std::unique_ptr<OneDnnMatmul> OneDnnMatmul::make(std::int64_t m, std::int64_t n, std::int64_t k, MatrixStrides a, MatrixStrides b, MatrixStrides c, DType result) {
  auto made = std::make_unique<Matmul>(m, n, k, a, b, c, result);
  return made->create() ? std::move(made) : nullptr;
}

}  // namespace damo::cpu_backend
