#include "runtime/backend.hpp"

#include <algorithm>
#include <utility>

#include <damo/error.hpp>

#include "runtime/data_report.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel_time_limit.hpp"
#include "runtime/library/convolution.hpp"
#include "runtime/library/dense_solver.hpp"
#include "runtime/library/fourier.hpp"
#include "runtime/library/matrix_product.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo {

Backend::Backend(std::string name, DeviceKind kind)
    : name_(std::move(name)),
      kind_(kind),
      pool_(std::make_unique<MemoryPool>(*this)),
      pinned_pool_(std::make_unique<PinnedPool>(*this)),
      cache_(std::make_unique<KernelCache>(*this)) {
  kernel_time_limit = kernel_time_limit_of_environment();
  tell_kernel_time_limit(*this, kernel_time_limit);
}

Backend::~Backend() = default;

void Backend::copy_rows(const RowsCopy& rows, CopyKind kind, void* stream) {
  for (std::size_t row = 0; row < rows.rows; ++row) {
    copy(static_cast<std::byte*>(rows.to) + row * rows.to_pitch,
         static_cast<const std::byte*>(rows.from) + row * rows.from_pitch, rows.row_bytes, kind, stream);
  }
}

void Backend::fill_rows(const RowsFill& rows, void* stream) {
  for (std::size_t row = 0; row < rows.rows; ++row) {
    fill(static_cast<std::byte*>(rows.to) + row * rows.pitch, rows.element, rows.element_bytes, rows.columns, stream);
  }
}

std::pair<std::string, std::size_t> Backend::share(void*) {
  throw DeviceError(name_ + " cannot share memory with other processes",
                    "copy it to one that can: array.to(Device(\"cpu\"))");
}

void* Backend::open_shared(const std::string&, std::size_t) {
  throw DeviceError(name_ + " cannot open memory of other processes",
                    "open it on a device of the kind that shared it");
}

void Backend::add_callback(void*, std::function<void()> function) { function(); }

std::unique_ptr<ReplayedWork> Backend::prepare_replay(const WorkLog&) { return nullptr; }

void Backend::capture_work(const WorkLog& log, void* stream) { log.run(stream); }

void Backend::begin_capture(void*) { throw DeviceError(name_ + " cannot capture a stream", "call without a capture"); }

std::unique_ptr<CapturedWork> Backend::end_capture(void*) {
  throw InternalError("end of a capture that never began on " + name_);
}

void Backend::begin_generation() {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  pool_->forget();
  pinned_pool_->forget();
  cache_->forget();
  std::map<std::type_index, std::shared_ptr<Companion>> dropped;  // destroyed when no lock is held
  {
    const std::lock_guard companions_lock(companions_mutex_);
    dropped.swap(companions_);
  }
  const std::lock_guard lock(reports_mutex_);
  reports_.clear();
  has_reports_ = false;
  watched_.clear();
  has_watched_ = false;
}

void Backend::report_callback(void* stream, std::exception_ptr error) noexcept {
  try {
    const std::lock_guard lock(reports_mutex_);
    reports_.emplace_back(stream, std::move(error));
    has_reports_ = true;
  } catch (...) {  // no host memory for the list: the next allocation says so
  }
}

void Backend::throw_reported(void* stream, bool all) {
  if (!has_reports_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  {
    const std::lock_guard lock(reports_mutex_);
    const auto found = std::find_if(reports_.begin(), reports_.end(),
                                    [&](const auto& report) { return all || report.first == stream; });
    if (found == reports_.end()) return;
    error = std::move(found->second);
    if (all) reports_.clear();
    else std::erase_if(reports_, [&](const auto& report) { return report.first == stream; });
    has_reports_ = !reports_.empty();
  }
  std::string text = "something that is no std::exception";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    text = thrown.what();
    std::throw_with_nested(DeviceError("a callback on a stream of " + name_ + " threw: " + text));
  } catch (...) {
    std::throw_with_nested(DeviceError("a callback on a stream of " + name_ + " threw " + text));
  }
}

void Backend::watch(std::shared_ptr<DataReport> report) {
  const std::lock_guard lock(reports_mutex_);
  watched_.push_back(std::move(report));
  has_watched_.store(true, std::memory_order_release);
}

void Backend::throw_found() {
  if (!has_watched_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(reports_mutex_);
  for (const auto& report : watched_) report->check();
  // Those that only this list holds belong to functions that are gone: their kernels are over, and so is the wait.
  std::erase_if(watched_, [](const auto& report) { return report.use_count() == 1; });
  has_watched_ = !watched_.empty();
}

void refuse_lost(const Backend& backend, const std::string& what) {
  throw DeviceError(what + " of " + backend.name() + " was made before the device was reset and is lost",
                    "make arrays, streams, modules and functions anew after Device::reset");
}

const DeviceProperties& Backend::limits() const {
  std::call_once(limits_known_, [this] { limits_ = properties(); });
  return limits_;
}

std::unique_ptr<MatrixEngine> Backend::make_matrix_engine() { return nullptr; }

std::unique_ptr<FourierEngine> Backend::make_fourier_engine() { throw DeviceError("there are no Fourier transforms on " + name_, "move the arrays to the CPU or to a GPU"); }
std::unique_ptr<ConvolutionEngine> Backend::make_convolution_engine() { return nullptr; }

std::unique_ptr<DenseSolver> Backend::make_dense_solver() { throw DeviceError("no matrices can be factored on " + name_, "move them to the CPU or to a GPU"); }

std::vector<std::byte> Backend::link(std::span<const CodePart>, const CompileOptions&) {
  throw DeviceError("machine code cannot be linked for " + name_, "link on a GPU, or give the sources");
}

std::string CompileOptions::text() const {
  std::string text;
  for (const auto& [name, value] : defines) text += "-D" + name + "=" + value + "\n";
  for (const std::string& directory : include_directories) text += "-I" + directory + "\n";
  text += "-std=" + standard + "\n";
  if (fast_math) text += "fast math\n";
  if (!contract) text += "no contraction\n";
  if (!line_info) text += "no line info\n";
  if (max_registers > 0) text += "registers " + std::to_string(max_registers) + "\n";
  if (check) text += "check\n";
  if (relocatable) text += "relocatable\n";
  return text;
}

std::shared_ptr<Companion> Backend::companion(std::type_index kind, std::shared_ptr<Companion> (*make)(Backend&)) {
  const std::lock_guard lock(companions_mutex_);
  std::shared_ptr<Companion>& found = companions_[kind];
  if (!found) found = make(*this);
  return found;
}

namespace {

constexpr const char* kAxes[] = {"x", "y", "z"};

[[noreturn]] void refuse(const LoadedKernel& kernel, const std::string& what, const std::string& remedy = {}) {
  throw DeviceError("launch of '" + kernel.name() + "': " + what, remedy);
}

/// extents: of a grid or of a block, what tells which.
void check_extents(const LoadedKernel& kernel, const char* what, const Dim3& extents, const std::int64_t (&limits)[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string text =
        std::string(what) + " of " + std::to_string(extents[axis]) + " along " + kAxes[axis] + ": ";
    if (extents[axis] < 1)
      refuse(kernel, text + "an extent is at least 1", "launch nothing where there is nothing to do");
    if (extents[axis] > limits[axis]) {
      refuse(kernel, text + kernel.backend->name() + " allows " + std::to_string(limits[axis]),
             "let each thread take several elements, with a grid-stride loop");
    }
  }
}

bool within(const Dim3& extents, const std::int64_t (&limits)[3]) {
  return extents[0] >= 1 && extents[1] >= 1 && extents[2] >= 1 && extents[0] <= limits[0] && extents[1] <= limits[1] &&
         extents[2] <= limits[2];
}

void check_threads(const LoadedKernel& kernel, std::int64_t threads, std::int64_t of_device) {
  const std::string text = "block of " + std::to_string(threads) + " threads: ";
  if (threads > of_device) refuse(kernel, text + kernel.backend->name() + " allows " + std::to_string(of_device),
                                "give the block fewer threads and the grid more blocks");
  if (kernel.max_threads_per_block > 0 && threads > kernel.max_threads_per_block) {
    refuse(
        kernel,
        text + "this kernel allows " + std::to_string(kernel.max_threads_per_block) + " on " + kernel.backend->name(),
        kernel.registers > 0 ? "it needs " + std::to_string(kernel.registers) +
                                   " registers a thread, or its __launch_bounds__ says so"
                             : "its __launch_bounds__ says so");
  }
}

}  // namespace

void check_launch(const LoadedKernel& kernel, const LaunchConfig& config) {
  const DeviceProperties& limits = kernel.backend->limits();
  if (!within(config.block, limits.max_block) || !within(config.grid, limits.max_grid)) {  // texts cost; here only
    // A block of 2048 breaks two limits: the product is the one that people know.
    if (const auto [x, y, z] = config.block; x >= 1 && x < 1 << 20 && y >= 1 && y < 1 << 20 && z >= 1 && z < 1 << 20) {
      check_threads(kernel, x * y * z, limits.max_threads_per_block);
    }
    check_extents(kernel, "block", config.block, limits.max_block);
    check_extents(kernel, "grid", config.grid, limits.max_grid);
  }
  const std::int64_t threads = config.block.count();
  const std::int64_t of_kernel =
      kernel.max_threads_per_block > 0 ? kernel.max_threads_per_block : limits.max_threads_per_block;
  if (threads > std::min<std::int64_t>(limits.max_threads_per_block, of_kernel)) {
    check_threads(kernel, threads, limits.max_threads_per_block);
  }
  const std::size_t shared_bytes = kernel.max_shared_bytes > 0 ? kernel.max_shared_bytes : limits.max_shared_bytes;
  if (config.shared_bytes > shared_bytes || kernel.static_shared_bytes > shared_bytes - config.shared_bytes) {
    refuse(kernel, "shared memory of " + std::to_string(config.shared_bytes) + " bytes and " +
                       std::to_string(kernel.static_shared_bytes) + " in the kernel's text: " + kernel.backend->name() +
                       " allows " + std::to_string(shared_bytes) + " a block",
           "work on smaller tiles");
  }
}

}  // namespace damo
