#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <damo/data_loader.hpp>
#include <damo/io/idx.hpp>
#include <damo/io/npy.hpp>
#include <damo/io/parameters.hpp>
#include <damo/io/safetensors.hpp>

#include "faults/injection.hpp"
#include "faults/program.hpp"

namespace damo::faults {
namespace {

double element(std::size_t i) { return static_cast<double>(i % 97); }

/// Each format there and back. A file that a step left is the last one or the one before, never a part; they hold the same.
class Files : public Program {
 public:
  ~Files() override {
    for (const char* name : {"/x.npy", "/x.safetensors", "/x.npz", "/x.idx.gz"}) std::remove((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }
  void build(Device device) override {
    const Paused paused;
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    std::vector<float> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(element(i));
    x_ = Array::from(values, device);
    w_.emplace(shared("w", x_));
  }
  void step() override {
    const Device device = x_.device();
    npy::save(folder_ + "/x.npy", x_);
    check("npy", npy::load(folder_ + "/x.npy", device));
    save(folder_ + "/x.safetensors", {*w_});
    load(folder_ + "/x.safetensors", {*w_});
    check("safetensors", w_->array());
#if DAMO_HAS_ZIP
    npz::save(folder_ + "/x.npz", {{"x", x_}}, true);
    check("npz", npz::load(folder_ + "/x.npz", device).at("x"));
#endif
#if DAMO_HAS_ZLIB
    idx::save(folder_ + "/x.idx.gz", x_);
    check("idx", idx::load(folder_ + "/x.idx.gz", device));
#endif
  }

 private:
  static constexpr std::size_t kCount = 5000;
  static void check(const char* what, const Array& found) { require_array<float>(what, found, kCount, element); }
  std::string folder_ = "/tmp/damo-files-XXXXXX";
  Array x_;
  std::optional<Shared> w_;
};

/// An epoch in order, made ahead by a thread.
class Loader : public Program {
 public:
  void build(Device device) override {
    std::vector<float> values(200);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(element(i));
    loader_.emplace(std::vector<Array>{Array::from(values, device)}, LoaderOptions{.batch = 64, .shuffle = false, .device = device});
  }
  void step() override {
    std::size_t begin = 0;
    for (const Batch& batch : loader_->epoch(0)) {
      const std::size_t rows = static_cast<std::size_t>(batch[0].size());
      require_array<float>("batch", batch[0], rows, [&](std::size_t i) { return element(begin + i); });
      begin += rows;
    }
    if (begin != 200) throw Wrong{"rows", static_cast<double>(begin), 200};
  }

 private:
  std::optional<DataLoader> loader_;
};

}  // namespace

std::vector<ProgramEntry> file_programs() { return {entry<Files>("Files"), entry<Loader>("Loader")}; }

}  // namespace damo::faults
