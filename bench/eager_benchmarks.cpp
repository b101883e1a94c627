// Arithmetic on arrays: eager_double_16/DEVICE is what a call costs; eager_copy, eager_sum, eager_row_sum,
// eager_column_sum, eager_argmax, eager_scan and eager_axpby read 2^27 floats on a GPU, 2^24 on the CPU. GB_per_s
// counts what must be read and written once: compare it with eager_copy's.
#include "benchmarks.hpp"

#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/elementwise_kernel.hpp>
#include <damo/reduction_kernel.hpp>
#include <damo/array_scan.hpp>

namespace damo::bench {
namespace {

/// One call of work on a matrix of about 2^27 or 2^24 floats; bytes: read and written, of one float.
template <class Work>
void add_large(const std::string& name, const Target& target, Effort effort, double bytes, Work work) {
  add(name + "/" + target.name, [=](benchmark::State& state) {
    const std::int64_t rows = target.device.is_host() ? 1 << 12 : 1 << 14,
                       columns = target.device.is_host() ? 1 << 12 : 1 << 13;
    const Array x = Array::full({rows, columns}, 0.5, float32, target.device);
    const Timing timing = time_calls([&] { work(x); }, [&] { target.device.synchronize(); }, effort);
    report(state, timing);
    state.counters["GB_per_s"] = bytes * static_cast<double>(x.size()) / timing.median * 1e-9;
  });
}

void add_small(const Target& target, Effort effort) {
  add("eager_double_16/" + target.name, [=](benchmark::State& state) {
    const Array x = Array::full({16}, 0.5, float32, target.device);
    report(state, time_calls([&] { const Array y = 2 * x; }, [&] { target.device.synchronize(); }, effort));
  });
  add("eager_snippet_16/" + target.name, [=](benchmark::State& state) {
    const Array x = Array::full({16}, 0.5, float32, target.device), y = x.copy();
    const ElementwiseKernel kernel("float a, const float* x, float* y", "y[i] = a * x[i]");
    report(state, time_calls([&] { kernel(2, x, y); }, [&] { target.device.synchronize(); }, effort));
  });
}

}  // namespace

void add_eager(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    add_small(target, effort);
    add_large("eager_copy", target, effort, 8, [](const Array& x) { x.copy(); });
    add_large("eager_double", target, effort, 8, [](const Array& x) { 2 * x; });
    add_large("eager_sum", target, effort, 4, [](const Array& x) { sum(x); });
    add_large("eager_row_sum", target, effort, 4, [](const Array& x) { sum(x, 1); });
    add_large("eager_column_sum", target, effort, 4, [](const Array& x) { sum(x, 0); });
    add_large("eager_argmax", target, effort, 4, [](const Array& x) { argmax(x); });
    add_large("eager_scan", target, effort, 8, [](const Array& x) { cumsum(x); });
    add_large("eager_column_scan", target, effort, 8, [](const Array& x) { cumsum(x, 0); });
    const ReductionKernel inner({.neutral = "0",
                                 .reduce = "a + b",
                                 .map = "x[i] * y[i]",
                                 .arguments = "const float* x, const float* y",
                                 .name = "inner"});
    add_large("eager_inner_product", target, effort, 4, [inner](const Array& x) { inner(x, x); });
    const ElementwiseKernel axpby("float a, const float* x, float b, const float* y, float* z",
                                  "z[i] = a * x[i] + b * y[i]");
    add_large("eager_axpby", target, effort, 8, [axpby](const Array& x) { axpby.results(2, x, 3, x); });
  }
}

}  // namespace damo::bench
