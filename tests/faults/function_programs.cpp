#include <cmath>
#include <cstdio>
#include <optional>
#include <system_error>
#include <thread>

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/compare.hpp>
#include <damo/damo.hpp>
#include <damo/raw_kernel.hpp>
#include <damo/array_scan.hpp>

#include "faults/injection.hpp"
#include "faults/program.hpp"

namespace damo::faults {
namespace {

std::vector<float> ramp(std::size_t count, float scale = 1) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = scale * static_cast<float>(i % 97) / 97;
  return values;
}
double at(std::size_t i, double scale = 1) { return scale * static_cast<double>(static_cast<float>(i % 97) / 97); }

/// A fused graph of two outputs, called with two shapes in turn, whose memory is given back after each step.
class FusedGraph : public Program {
 public:
  void build(Device device) override {
    const Variable x = vector("x"), y = vector("y"), z = tanh(x + 2.0 * y);
    f_ = function({x, y}, {z, x * y - 1.0}, {.device = device});
    for (std::size_t i = 0; i < 2; ++i) {
      x_[i] = Array::from(ramp(kCounts[i]), device);
      y_[i] = Array::from(ramp(kCounts[i], 3), device);
    }
  }
  void step() override {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto [z, w] = f_->call<2>(x_[i], y_[i]);
      require_array<float>("tanh(x + 2 y)", z, kCounts[i], [](std::size_t k) { return std::tanh(at(k) + 2 * at(k, 3)); });
      require_array<float>("x y - 1", w, kCounts[i], [](std::size_t k) { return at(k) * at(k, 3) - 1; });
    }
    f_->free_memory();
  }

 private:
  static constexpr std::size_t kCounts[2] = {1000, 37};
  std::optional<Function> f_;
  Array x_[2], y_[2];
};

class RawKernelInAGraph : public Program {
 public:
  void build(Device device) override {
    const RawKernel shifted{{.name = "shifted", .inputs = {"const float* x"}, .outputs = {"float* y"}, .scalars = {"int n"}, .body = R"(
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = x[(i + 1) % n] * 2;)"}};
    const RawKernel counted{{.name = "counted", .inputs = {"float* total", "const float* x"}, .outputs = {"float* total"}, .scalars = {"int x_size"}, .body = R"(
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < x_size) total[i] += x[i];)", .launch = one_thread_each(64), .overwrites = {"total"}}};
    const Variable x = vector("x");
    f_ = function({x}, {counted(shifted(x + 1.0), x)}, {.device = device});
    x_ = Array::from(ramp(500), device);
  }
  void step() override {
    const Array y = (*f_)(x_);
    require_array<float>("shifted", y, 500, [](std::size_t k) { return 2 * (at((k + 1) % 500) + 1) + at(k); });
  }

 private:
  std::optional<Function> f_;
  Array x_;
};

/// compare() and its page: a file that the C++ library's streams write. Not write_json(): nlohmann-json's destructors
/// allocate, and end the process where there is no memory.
class Compare : public Program {
 public:
  ~Compare() override { std::remove(page_.c_str()); }
  void build(Device device) override {
    device_ = device;
    page_ = std::string(std::getenv("DAMO_CACHE_DIR")) + "-page.html";
    x_ = Array::full({64}, 0.5, float32, device);
  }
  void step() override {
    const Variable x = vector("x"), y = vector("y");
    const Comparison comparison = compare({x, y}, {tanh(x + y) * x}, {x_, x_}, {.device = *device_}, 1e-9);
    if (!comparison.is_within(4)) throw Wrong{"fused and unfused differ by ulps", comparison.outputs.at(0).ulps, 0};
    comparison.write_html(page_);
  }

 private:
  std::optional<Device> device_;
  std::string page_;
  Array x_;
};

class EagerArrays : public Program {
 public:
  void build(Device device) override { x_ = Array::from(ramp(600), Shape{20, 30}, device); }
  void step() override {
    const Array sums = sum(x_, 1), running = cumsum(x_.transpose().contiguous(), 0), doubled = x_ * 2.0f + x_;
    require_array<float>("sum", sums, 20, [](std::size_t row) {
      double total = 0;
      for (std::size_t k = 0; k < 30; ++k) total += at(row * 30 + k);
      return total;
    });
    require_array<float>("cumsum", running, 600, [](std::size_t i) {
      double total = 0;
      for (std::size_t k = 0; k <= i / 20; ++k) total += at(i % 20 * 30 + k);
      return total;
    });
    require_array<float>("3 x", doubled, 600, [](std::size_t i) { return 3 * at(i); });
    require_array<std::int64_t>("argmax", argmax(x_), 1, [](std::size_t) { return 96; });
  }

 private:
  Array x_;
};

/// One Function called by three threads at a time.
class Threads : public Program {
 public:
  void build(Device device) override {
    const Variable x = vector("x");
    f_ = function({x}, {exp(x) - x}, {.device = device});
    x_ = Array::from(ramp(300), device);
  }
  void step() override {
    std::exception_ptr errors[3];
    {
      const bool armed = is_armed();
      const auto call = [this, armed](std::exception_ptr& error) {
        std::optional<Armed> points;
        if (armed) points.emplace();
        try {
          const Array y = (*f_)(x_);
          require_array<float>("exp(x) - x", y, 300, [](std::size_t k) { return std::exp(at(k)) - at(k); });
        } catch (...) {
          error = std::current_exception();
        }
      };
      std::vector<std::jthread> threads;
      try {
        for (std::exception_ptr& error : errors) threads.emplace_back([&call, &error] { call(error); });
      } catch (const std::system_error&) {
        // A thread that this program, not Damo, was refused: the others call.
      }
    }
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }

 private:
  std::optional<Function> f_;
  Array x_;
};

/// Kernels compiled, loaded and kept on disk.
class ColdCache final : public FusedGraph {};

}  // namespace

std::vector<ProgramEntry> function_programs() {
  return {entry<FusedGraph>("FusedGraph"),   entry<RawKernelInAGraph>("RawKernelInAGraph"), entry<Compare>("Compare"),
          entry<EagerArrays>("EagerArrays"), entry<Threads>("Threads"),                     entry<ColdCache>("ColdCache", true)};
}

}  // namespace damo::faults
