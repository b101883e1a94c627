#include "ops/sum_axes_thunk.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <damo/thunk.hpp>
#include "runtime/exec/version_table.hpp"

namespace damo {
namespace {

constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kElements = 512;         // that a thread adds, where that leaves enough threads
constexpr std::int64_t kManyOutputs = 1 << 16;  // one thread each fills the device

const char* c_name(DType dtype) {
  return dtype == float64 ? "double" : dtype == float16 ? "__half" : dtype == bfloat16 ? "__nv_bfloat16" : "float";
}

/// "rest" counts through axes in C order: adds to `at` what it says of their strides. The outermost needs no division.
std::string walk(const std::string& letter, int axes) {
  std::string text;
  for (int axis = axes - 1; axis > 0; --axis) {
    const std::string n = std::to_string(axis);
    text += "    at += rest % " + letter + n + " * " + letter + "s" + n + "; rest /= " + letter + n + ";\n";
  }
  return text + "    at += rest * " + letter + "s0;\n";
}

}  // namespace

// Thread (output, chunk) adds every chunks-th element of its output. k: axes that stay, r: axes that are summed.
std::string sum_axes_source(DType dtype, int kept, int reduced) {
  std::string parameters;
  for (const auto& [letter, axes] : {std::pair("k", kept), std::pair("r", reduced)}) {
    for (int axis = 0; axis < axes; ++axis) {
      const std::string n = std::to_string(axis);
      parameters += std::string(", long long ") + letter + n + ", long long " + letter + "s" + n;
    }
  }
  const std::string head = dtype == float16    ? "#include <cuda_fp16.h>"
                           : dtype == bfloat16 ? "#include <cuda_bf16.h>"
                                               : "";
  return head + R"(
template <class T> struct Sum { typedef float Type; };
template <> struct Sum<double> { typedef double Type; };
template <class From, class To>
__global__ void sum_axes(const From* x, To* y, long long outputs, long long count, long long chunks, int chunk_first)" +
         parameters + R"() {
  long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= outputs * chunks) return;
  long long chunk = chunk_first ? thread % chunks : thread / outputs;
  long long output = chunk_first ? thread / chunks : thread % outputs;
  long long first = 0;
  {
    long long rest = output, at = 0;
)" + walk("k", kept) +
         R"(    first = at;
  }
  typename Sum<From>::Type sum = 0;
  for (long long i = chunk; i < count; i += chunks) {
    long long rest = i, at = first;
)" + walk("r", reduced) +
         R"(    sum += (typename Sum<From>::Type)x[at];
  }
  y[output * chunks + chunk] = (To)sum;
})";
}

std::string sum_axes_kernel(DType from, DType to) {
  return "sum_axes<" + std::string(c_name(from)) + ", " + c_name(to) + ">";
}

namespace {

struct Axes {
  std::vector<std::int64_t> extents, strides;
  std::int64_t count() const {
    std::int64_t product = 1;
    for (std::int64_t extent : extents) product *= extent;
    return product;
  }
};

class SumAxesThunk {
 public:
  SumAxesThunk(std::vector<std::int64_t> axes, const Apply& node, ThunkContext& context)
      : axes_(std::move(axes)), x_(context.storage(node.input(0))), y_(context.storage(node.output())), bound_({&x_}) {
    const DType dtype = node.output().dtype();
    partial_ = dtype == float64 ? float64 : float32;
    reduced_ = std::max<int>(1, static_cast<int>(axes_.size()));
    kept_ = std::max<int>(1, node.input(0).rank() - static_cast<int>(axes_.size()));
    const std::string source = sum_axes_source(dtype, kept_, reduced_);
    first_ = middle_ = last_ = context.compile(source, sum_axes_kernel(dtype, partial_));
    if (dtype == partial_) return;
    middle_ = context.compile(source, sum_axes_kernel(partial_, partial_));
    last_ = context.compile(source, sum_axes_kernel(partial_, dtype));
  }

  void operator()() {
    std::vector<Stage>* stages = bound_.find();
    if (!stages) stages = &bound_.add(bind());
    for (Stage& stage : *stages) {
      if (&stage == &stages->front()) stage.arguments[0] = KernelArgument::address_of(x_.array());
      if (&stage == &stages->back()) stage.arguments[1] = KernelArgument::address_of(y_.array());
      stage.kernel.launch_arguments(stage.config, stage.arguments);
    }
  }

 private:
  struct Stage {
    Kernel kernel;
    LaunchConfig config;
    std::vector<KernelArgument> arguments;
    Array result;  // of all but the last
  };

  std::vector<Stage> bind() const {
    std::vector<Stage> stages;
    Axes kept, reduced;
    for (int axis = 0; axis < x_.shape().rank(); ++axis) {
      Axes& of = std::binary_search(axes_.begin(), axes_.end(), axis) ? reduced : kept;
      of.extents.push_back(x_.shape()[axis]);
      of.strides.push_back(x_.strides()[axis]);
    }
    const std::int64_t outputs = kept.count();
    if (outputs == 0) return stages;
    bool chunk_first = is_summed_innermost();
    bool is_first = true;
    for (;;) {
      const std::int64_t count = reduced.count();
      const std::int64_t chunks =
          outputs >= kManyOutputs ? 1 : std::max<std::int64_t>(1, (count + kElements - 1) / kElements);
      const bool is_last = chunks == 1 && (!is_first || y_.dtype() == partial_);
      add_stage(stages, is_first ? first_ : is_last ? last_ : middle_, kept, reduced, outputs, chunks, chunk_first, is_last);
      if (is_last) return stages;
      kept = {{outputs}, {chunks}};
      reduced = {{chunks}, {1}};
      chunk_first = true;
      is_first = false;
    }
  }

  void add_stage(std::vector<Stage>& stages, const Kernel& kernel, Axes kept, Axes reduced, std::int64_t outputs,
                 std::int64_t chunks, bool chunk_first, bool is_last) const {
    Stage stage;
    stage.kernel = kernel;
    stage.config = {.grid = {(outputs * chunks + kBlock - 1) / kBlock}, .block = {kBlock}};
    stage.arguments = {KernelArgument(nullptr), KernelArgument(nullptr)};
    if (!is_last) {
      stage.result = Array::empty({outputs * chunks}, partial_, y_.array().device());
      stage.arguments[1] = KernelArgument(stage.result);
    }
    if (!stages.empty()) stage.arguments[0] = KernelArgument(stages.back().result);
    for (std::int64_t value : {outputs, reduced.count(), chunks})
      stage.arguments.push_back(KernelArgument(static_cast<long long>(value)));
    stage.arguments.push_back(KernelArgument(static_cast<int>(chunk_first)));
    for (auto [axes, rank] : {std::pair(&kept, kept_), std::pair(&reduced, reduced_)}) {
      axes->extents.insert(axes->extents.begin(), static_cast<std::size_t>(rank) - axes->extents.size(), 1);
      axes->strides.insert(axes->strides.begin(), static_cast<std::size_t>(rank) - axes->strides.size(), 0);
      for (std::size_t axis = 0; axis < axes->extents.size(); ++axis) {
        stage.arguments.push_back(KernelArgument(static_cast<long long>(axes->extents[axis])));
        stage.arguments.push_back(KernelArgument(static_cast<long long>(axes->strides[axis])));
      }
    }
    stages.push_back(std::move(stage));
  }

  /// Neighbours in memory are added by neighbouring threads, whether they belong to one sum or to several.
  bool is_summed_innermost() const {
    int innermost = -1;
    for (int axis = 0; axis < x_.shape().rank(); ++axis) {
      if (x_.shape()[axis] <= 1 || x_.strides()[axis] == 0) continue;
      if (innermost < 0 || std::abs(x_.strides()[axis]) <= std::abs(x_.strides()[innermost])) innermost = axis;
    }
    return innermost >= 0 && std::binary_search(axes_.begin(), axes_.end(), innermost);
  }

  std::vector<std::int64_t> axes_;
  Cell &x_, &y_;
  DType partial_;
  int kept_ = 1, reduced_ = 1;    // axes in the kernels' parameters
  Kernel first_, middle_, last_;  // from elements to sums, from sums to sums, from sums to the result
  VersionTable<std::vector<Stage>> bound_;
};

}  // namespace

Thunk sum_axes_thunk(const std::vector<std::int64_t>& axes, const Apply& node, ThunkContext& context) {
  return [thunk = std::make_shared<SumAxesThunk>(axes, node, context)] { (*thunk)(); };
}

}  // namespace damo
