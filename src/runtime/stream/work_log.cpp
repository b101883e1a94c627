#include "runtime/stream/work_log.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/library/convolution.hpp"
#include "runtime/library/matrix_product.hpp"
#include "runtime/memory/memory_pool.hpp"

namespace damo {
namespace {

static_assert(std::has_unique_object_representations_v<WorkItem>, "logs are compared as bytes");

constexpr std::size_t kAlignment = 16;       // of each value
constexpr std::uint64_t kKeptCalls = 64;     // after so many that did not need it a block goes back to the pool
constexpr std::size_t kSpread = 64 << 20;    // up to so many bytes of blocks one that this call has used waits for the next call: work that shares it can't run side by side

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct CopyValues {
  void* to;
  const void* from;
  std::size_t bytes;
  std::size_t kind;
};
struct FillValues {
  void* to;
  std::uint64_t element;
  std::size_t element_bytes, count;
};
template <class Addresses>
struct LibraryValues {
  Addresses addresses;
  void* workspace;
};
using ProductValues = LibraryValues<MatrixAddresses>;
using ConvolutionValues = LibraryValues<ConvolutionAddresses>;

}  // namespace

constinit thread_local WorkLog* log_of_thread = nullptr;

WorkLog::~WorkLog() {
  for (const Block& block : blocks_) give_back(block);
}

std::uint32_t WorkLog::begin_step(bool is_known) {
  drop_empty_step();
  steps_.push_back({static_cast<std::uint32_t>(items_.size()), is_known});
  in_step_ = true;
  return static_cast<std::uint32_t>(steps_.size() - 1);
}

void WorkLog::touch(std::uint32_t step, const void* memory, std::size_t bytes, bool writes) {
  const bool is_there = in_step_ && step < steps_.size();  // not where the device was given what the log had, the step's beginning with it
  if (is_there && bytes != 0) touches_.push_back({reinterpret_cast<std::uintptr_t>(memory), bytes, step, writes});
}

void WorkLog::touch(const void* memory, std::size_t bytes, bool writes) { touch(static_cast<std::uint32_t>(steps_.size() - 1), memory, bytes, writes); }

void WorkLog::split_step() {
  if (in_step_ && !steps_.empty() && steps_.back().is_known && steps_.back().first_item < items_.size()) steps_.push_back({.first_item = static_cast<std::uint32_t>(items_.size()), .is_known = true, .is_single = true});
}

void WorkLog::note_apart() {
  if (in_step_ && !steps_.empty())
    steps_.back().is_apart = steps_.back().is_known && steps_.back().first_item == items_.size();
}

void WorkLog::note_uncontained() {
  if (in_step_ && !steps_.empty()) steps_.back().is_known = steps_.back().is_apart = false;
}

void WorkLog::end_step() {
  drop_empty_step();
  in_step_ = false;
}

void WorkLog::drop_empty_step() {
  if (steps_.empty() || steps_.back().first_item != items_.size()) return;
  steps_.pop_back();
  while (!touches_.empty() && touches_.back().step == steps_.size()) touches_.pop_back();
}

void WorkLog::add(WorkItem::Kind kind, const void* what, std::size_t bytes) {
  const auto is_beyond = [&](const Step& step) { return in_step_ ? step.is_single && step.first_item < items_.size() : step.is_known; };
  if (steps_.empty() || is_beyond(steps_.back())) {  // work between nodes, or of a step whose beginning the device has: nobody says what it touches
    steps_.push_back({static_cast<std::uint32_t>(items_.size()), false});
  }
  WorkItem& item = items_.emplace_back();
  item.what = what;
  item.kind = kind;
  item.first = static_cast<std::uint32_t>(values_.size());
  item.bytes = static_cast<std::uint32_t>(bytes);
  values_.resize(values_.size() + aligned(bytes));
}

bool WorkLog::launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments) {
  const std::uint32_t block = kernel.block_bytes.load(std::memory_order_relaxed);
  std::size_t bytes = block;
  const auto& parameters = kernel.parameters();
  const bool is_known = block != 0 || (parameters && std::all_of(parameters->begin(), parameters->end(), [](const ParameterType& type) { return type.bytes > 0; }));
  auto held = is_known ? kernel.weak_from_this().lock() : nullptr;  // who asked for it may let go of it before the device has it
  if (!held) return flush_for_other_work(), false;
  if (block == 0) {
    for (const ParameterType& type : *parameters) bytes += aligned(type.bytes);
  }
  held_.push_back(std::move(held));
  add(WorkItem::Kind::kKernel, &kernel, bytes);
  WorkItem& item = items_.back();
  item.grid = config.grid;
  item.block = config.block;
  item.shared_bytes = config.shared_bytes;
  std::byte* to = values_.data() + item.first;
  if (block != 0) {
    std::memcpy(to, arguments[0], block);
    return true;
  }
  for (std::size_t i = 0; i < kernel.parameters()->size(); ++i) {
    const std::size_t size = (*kernel.parameters())[i].bytes;
    std::memcpy(to, arguments[i], size);
    to += aligned(size);
  }
  return true;
}

bool WorkLog::copy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
  const bool may_wait = kind == CopyKind::kDeviceToDevice || (is_for_capture_ && kind == CopyKind::kHostToDevice);
  if (!may_wait) return flush_for_other_work(), false;
  const CopyValues values{to, from, bytes, static_cast<std::size_t>(kind)};
  add(WorkItem::Kind::kCopy, nullptr, sizeof values);
  std::memcpy(values_.data() + items_.back().first, &values, sizeof values);
  return true;
}

bool WorkLog::fill(void* to, const void* element, std::size_t element_bytes, std::size_t count) {
  FillValues values{to, 0, element_bytes, count};
  if (element_bytes > sizeof values.element) return flush_for_other_work(), false;
  std::memcpy(&values.element, element, element_bytes);
  add(WorkItem::Kind::kFill, nullptr, sizeof values);
  std::memcpy(values_.data() + items_.back().first, &values, sizeof values);
  return true;
}

bool WorkLog::multiply(PreparedProduct& product, const MatrixAddresses& addresses, void* workspace) {
  held_.push_back(product.shared_from_this());
  const ProductValues values{addresses, workspace};
  add(WorkItem::Kind::kProduct, &product, sizeof values);
  std::memcpy(values_.data() + items_.back().first, &values, sizeof values);
  return true;
}

bool WorkLog::convolve(PreparedConvolution& convolution, const ConvolutionAddresses& addresses, void* workspace) {
  held_.push_back(convolution.shared_from_this());
  const ConvolutionValues values{addresses, workspace};
  add(WorkItem::Kind::kConvolution, &convolution, sizeof values);
  std::memcpy(values_.data() + items_.back().first, &values, sizeof values);
  return true;
}

void WorkLog::flush_for_other_work() {
  const LogScope to_the_device(nullptr);
  was_interrupted_ = true;
  try {
    run(nullptr);
  } catch (...) {
    clear();
    throw;
  }
  clear();
}

std::size_t WorkLog::kernels() const {
  return static_cast<std::size_t>(std::count_if(items_.begin(), items_.end(), [](const WorkItem& item) { return item.kind != WorkItem::Kind::kCopy && item.kind != WorkItem::Kind::kFill; }));
}

bool WorkLog::operator==(const WorkLog& other) const {
  return items_.size() == other.items_.size() && values_.size() == other.values_.size() &&
         std::memcmp(items_.data(), other.items_.data(), items_.size() * sizeof(WorkItem)) == 0 &&
         std::memcmp(values_.data(), other.values_.data(), values_.size()) == 0;
}

bool WorkLog::is_like(const WorkLog& other) const {
  if (items_.size() != other.items_.size() || values_.size() != other.values_.size()) return false;
  if (std::memcmp(items_.data(), other.items_.data(), items_.size() * sizeof(WorkItem)) != 0) return false;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kind != WorkItem::Kind::kKernel && !moves(i) && differs(i, other)) return false;
  }
  return true;
}

std::size_t WorkLog::moving() const { return static_cast<std::size_t>(std::count(moving_.begin(), moving_.end(), 1)); }

void WorkLog::learn_moving(const WorkLog& other) {
  if (items_.size() != other.items_.size() || values_.size() != other.values_.size()) return;
  if (std::memcmp(items_.data(), other.items_.data(), items_.size() * sizeof(WorkItem)) != 0) return;
  moving_.resize(items_.size(), 0);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kind != WorkItem::Kind::kKernel && (other.moves(i) || differs(i, other))) moving_[i] = 1;
  }
}

bool WorkLog::differs(std::size_t i, const WorkLog& other) const {
  const WorkItem& item = items_[i];
  return std::memcmp(values_.data() + item.first, other.values_.data() + item.first, item.bytes) != 0;
}

void WorkLog::take_values(std::size_t i, const WorkLog& other) {
  const WorkItem& item = items_[i];
  std::memcpy(values_.data() + item.first, other.values_.data() + item.first, item.bytes);
}

std::unique_ptr<WorkLog> WorkLog::clone() const {
  auto copy = std::make_unique<WorkLog>(backend_);
  copy->items_ = items_;
  copy->values_ = values_;
  copy->steps_ = steps_;
  copy->touches_ = touches_;
  copy->moving_ = moving_;
  copy->held_ = held_;
  return copy;
}

void** WorkLog::arguments(const WorkItem& item) const {
  static thread_local std::vector<void*> pointers;
  pointers.clear();
  const auto& kernel = *static_cast<const LoadedKernel*>(item.what);
  auto* at = const_cast<std::byte*>(values_.data()) + item.first;
  if (kernel.block_bytes.load(std::memory_order_relaxed) != 0) {
    pointers.push_back(at);
  } else {
    for (const ParameterType& type : *kernel.parameters()) {
      pointers.push_back(at);
      at += aligned(type.bytes);
    }
  }
  return pointers.data();
}

void WorkLog::run(std::size_t i, void* stream) const {
  const WorkItem& item = items_[i];
  const auto values = [&]<class Values>(Values into) {
    std::memcpy(&into, values_.data() + item.first, sizeof into);
    return into;
  };
  switch (item.kind) {
    case WorkItem::Kind::kKernel:
      return backend_.launch(*static_cast<const LoadedKernel*>(item.what), {.grid = item.grid, .block = item.block, .shared_bytes = item.shared_bytes}, arguments(item), stream);
    case WorkItem::Kind::kCopy: {
      const auto [to, from, bytes, kind] = values(CopyValues{});
      return backend_.copy(to, from, bytes, static_cast<CopyKind>(kind), stream);
    }
    case WorkItem::Kind::kFill: {
      const auto [to, element, element_bytes, count] = values(FillValues{});
      return backend_.fill(to, &element, element_bytes, count, stream);
    }
    case WorkItem::Kind::kProduct: {
      const auto [addresses, workspace] = values(ProductValues{});
      return static_cast<PreparedProduct*>(const_cast<void*>(item.what))->run(addresses, workspace, stream);
    }
    case WorkItem::Kind::kConvolution: {
      const auto [addresses, workspace] = values(ConvolutionValues{});
      return static_cast<PreparedConvolution*>(const_cast<void*>(item.what))->run(addresses, workspace, stream);
    }
  }
}

void WorkLog::run(void* stream) const {
  for (std::size_t i = 0; i < items_.size(); ++i) run(i, stream);
}

void WorkLog::clear() noexcept {
  items_.clear();
  steps_.clear();
  touches_.clear();
  values_.clear();
  moving_.clear();
  held_.clear();
}

bool WorkLog::keep(void* memory, std::size_t bytes, std::size_t class_bytes, StreamSet used_by) noexcept {
  try {
    const auto found = std::find(allocated_.begin(), allocated_.end(), memory);
    const bool is_own = found != allocated_.end();
    blocks_.push_back({memory, bytes, class_bytes, used_by, is_own, call_});
    if (is_own) allocated_.erase(found);
    return true;
  } catch (...) {
  }
  try {
    flush_for_other_work();
  } catch (...) {  // what it could not be given will not run
  }
  return false;
}

void* WorkLog::take(std::size_t class_bytes) noexcept {
  const auto fits = [&](const Block& block) { return block.class_bytes == class_bytes && block.is_own && block.used_by == 0; };
  auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Block& block) { return fits(block) && block.last_call != call_; });
  if (found == blocks_.rend()) {
    std::size_t bytes = class_bytes;
    for (const Block& block : blocks_) bytes += block.class_bytes;
    if (bytes > kSpread) found = std::find_if(blocks_.rbegin(), blocks_.rend(), fits);
  }
  if (found == blocks_.rend() || backend_.streams_at_large != 0) return nullptr;
  void* const memory = found->memory;
  try {
    note_allocated(memory, class_bytes);
  } catch (...) {
    return nullptr;
  }
  blocks_.erase(std::next(found).base());
  return memory;
}

void WorkLog::note_allocated(void* memory, std::size_t class_bytes) {
  allocated_.push_back(memory);
  try {
    touch(memory, class_bytes, true);
  } catch (...) {
    allocated_.pop_back();
    throw;
  }
}

void WorkLog::begin(bool for_capture) {
  ++call_;
  is_for_capture_ = for_capture;
  was_interrupted_ = in_step_ = false;
  clear();
  allocated_.clear();
  std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) { return std::less<>()(a.memory, b.memory); });
}

void WorkLog::end() noexcept {
  if (!allocated_.empty()) ++epoch_;
  allocated_.clear();
  std::erase_if(blocks_, [&](const Block& block) {
    const bool stays = block.is_own && block.last_call + kKeptCalls > call_;
    if (!stays) give_back(block);
    epoch_ += !stays && block.is_own;
    return !stays;
  });
}

void WorkLog::give_back(const Block& block) noexcept {
  if (backend_.generation() == generation_) backend_.pool().release(block.memory, block.bytes, block.used_by);
}

}  // namespace damo
