// Custom ops as a user writes them, for tests of what lies around ops.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <damo/op.hpp>
#include <damo/thunk.hpp>

namespace damo::testing {

/// As many outputs as told, each like the first input; no thunk. For tests of graphs.
class OpaqueOp final : public Op {
 public:
  explicit OpaqueOp(std::string name = "opaque", int outputs = 1, Props props = {})
      : name_(std::move(name)), outputs_(outputs), props_(std::move(props)) {}
  std::string name() const override { return name_; }
  Props props() const override {
    Props all = props_;
    all.emplace_back("name", name_);
    return all;
  }
  Apply make_node(Inputs in) const override {
    return {*this, {in.begin(), in.end()}, std::vector<TensorType>(static_cast<std::size_t>(outputs_), in.at(0).type())};
  }

 private:
  std::string name_;
  int outputs_;
  Props props_;
};

/// y = x + 1 in CUDA C, float32, any strides of up to two axes; counts what the executor asks of it.
class AddOneOp final : public Op {
 public:
  struct Counts {
    int thunks = 0, runs = 0;
  };
  explicit AddOneOp(Counts* counts = nullptr) : counts_(counts) {}
  std::string name() const override { return "add_one"; }
  Apply make_node(Inputs in) const override {
    in.require_count(1);
    require_dtype(in.at(0), float32);
    return {*this, {in.at(0)}, {in.at(0).type()}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    static constexpr const char* kSource = R"(
extern "C" __global__ void add_one(const float* x, float* y, int n, int columns, long long row, long long column) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i / columns * row + i % columns * column] + 1.0f;
})";
    Kernel kernel = context.compile(kSource, "add_one");
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.output());
    if (counts_) ++counts_->thunks;
    return [=, &x, &y, counts = counts_] {
      if (counts) ++counts->runs;
      const bool two = x.shape().rank() == 2;
      const std::int64_t columns = two ? x.shape()[1] : x.size();
      const std::int64_t row = two ? x.strides()[0] : 0, column = x.shape().rank() > 0 ? x.strides()[-1] : 1;
      kernel.launch_1d(x.size(), x.data<float>(), y.array(), static_cast<int>(x.size()), static_cast<int>(columns),
                       static_cast<long long>(row), static_cast<long long>(column));
    };
  }

 private:
  Counts* counts_;
};

/// An op of one output like its first input whose thunk is the test's.
class CallbackOp final : public Op {
 public:
  using Run = std::function<void(Cell& x, Cell& y)>;
  CallbackOp(std::string name, Run run, bool sized_by_data = false)
      : name_(std::move(name)), run_(std::move(run)), sized_by_data_(sized_by_data) {}
  std::string name() const override { return name_; }
  Apply make_node(Inputs in) const override {
    TensorType type = in.at(0).type();
    if (sized_by_data_) type.dims = Shape::filled(type.rank(), kUnknown);
    return {*this, {in.begin(), in.end()}, {type}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override {
    if (sized_by_data_) return std::nullopt;
    return {{in[0]}};
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.output());
    return [&x, &y, run = run_] { run(x, y); };
  }
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

 private:
  std::string name_;
  Run run_;
  bool sized_by_data_;
};

/// y = the positive elements of x: its size depends on the data.
inline OpHandle<CallbackOp> make_positives() {
  return make_op<CallbackOp>("positives", [](Cell& x, Cell& y) {
    std::vector<float> kept;
    for (const float value : x.array().to_vector<float>()) {
      if (value > 0) kept.push_back(value);
    }
    y.resize({static_cast<std::int64_t>(kept.size())});
    if (!kept.empty()) y.array().copy_from(Array::from(kept, x.array().device()));
  }, true);
}

}  // namespace damo::testing
