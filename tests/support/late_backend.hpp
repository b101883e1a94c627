// LateBackend: a device of host memory whose streams are late: what a stream is given is done when somebody waits for the
// stream, and never before. The default stream's work is done at once. What a GPU may do now and then this does always, so
// that a missing wait shows on any machine.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/host_backend.hpp"

namespace damo::testing {

class LateBackend final : public HostBackend {
 public:
  using HostBackend::HostBackend;
  ~LateBackend() override { synchronize(); }

  /// A kernel's work: what a launch on a stream does later.
  void give(void* stream, std::function<void()> work) {
    if (stream == nullptr) return work();
    queues_[stream].push_back(std::move(work));
  }
  bool is_idle(void* stream) { return queues_[stream].empty(); }

  void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) override {
    give(stream, [=, this] { HostBackend::copy(to, from, bytes, kind, nullptr); });
  }
  void copy_peer(void* to, Backend&, const void* from, std::size_t bytes, void* stream) override {
    give(stream, [=, this] { HostBackend::copy(to, from, bytes, CopyKind::kDeviceToDevice, nullptr); });
  }
  void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) override {
    events.push_back("fill");
    std::vector<std::byte> kept(static_cast<const std::byte*>(element), static_cast<const std::byte*>(element) + element_bytes);
    give(stream, [=, this] { HostBackend::fill(to, kept.data(), element_bytes, count, nullptr); });
  }
  void launch(const LoadedKernel&, const LaunchConfig&, void* const* arguments, void* stream) override {
    const float* const x = *static_cast<const float**>(arguments[0]);
    float* const y = *static_cast<float**>(arguments[1]);
    give(stream, [=] { *y = *x; });
    note_work(stream);
  }

  void* create_stream(StreamOptions) override { return reinterpret_cast<void*>(++last_stream_); }
  StreamSet stream_set(void* stream) const noexcept override {
    return stream ? StreamSet{1} << (reinterpret_cast<std::uintptr_t>(stream) - 1) : 0;
  }
  void join_streams(StreamSet streams) noexcept override {
    streams_at_large.fetch_and(~streams | foreign_);
    for (auto& [stream, queue] : queues_) {
      if ((stream_set(stream) & streams) != 0) finish(queue);
    }
  }
  void fork_streams() override { events.push_back("fork"); }
  void note_foreign_work(void* stream) noexcept override {
    foreign_ |= stream_set(stream);
    streams_at_large.fetch_or(foreign_);
  }
  void synchronize(void* stream) override { finish(queues_[stream]); }
  void synchronize() override {
    for (auto& [stream, queue] : queues_) finish(queue);
  }

  std::vector<std::string> events;  ///< fills and forks, in order

 private:
  static void finish(std::vector<std::function<void()>>& queue) {
    for (const auto& work : std::exchange(queue, {})) work();
  }
  std::map<void*, std::vector<std::function<void()>>> queues_;
  std::uintptr_t last_stream_ = 0;
  StreamSet foreign_ = 0;
};

}  // namespace damo::testing
