#include <damo/elementwise_kernel.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "ops/eager/elementwise_text.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/eager/snippet.hpp"
#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/given_names.hpp"
#include "runtime/kernel/layout.hpp"

namespace damo {
namespace {

constexpr int kBlock = kSnippetBlock;
constexpr std::int64_t kMostThreads = std::int64_t{1} << 30;  // of a launch whose positions need 64 bits
constexpr std::int64_t kNarrowLimit = std::int64_t{1} << 31;
constexpr int kMostNeighbours = 8;         // elements a thread
constexpr std::size_t kMostKernels = 512;  // of one ElementwiseKernel; then all are dropped, their code stays cached

}  // namespace

struct ElementwiseKernel::Data {
  ElementwiseSnippet snippet;
  std::vector<bool> plain;  ///< array by array: used other than as x[i]
  std::vector<std::string> flags;

  std::mutex mutex;
  std::map<std::pair<Backend*, std::string>, std::shared_ptr<const LoadedKernel>> kernels;

  bool is_output(std::size_t array) const {
    for (const RawParameter& parameter : snippet.parameters) {
      if (parameter.is_pointer && array-- == 0) return !parameter.is_const;
    }
    return false;
  }
  int width(std::span<const Array> arrays) const;
  std::shared_ptr<const LoadedKernel> kernel(Backend& backend, const SnippetLayout& layout);
  void launch(Backend& backend, std::span<const Array> arrays, std::span<const Scalar> numbers, const Shape& space);
  void run(SnippetArguments& arguments);
};

ElementwiseKernel::ElementwiseKernel(const std::string& parameters, SourceText operation,
                                     ElementwiseKernelOptions options)
    : data_(std::make_shared<Data>()) {
  Data& data = *data_;
  data.snippet.name = std::move(options.name);
  if (!is_identifier(data.snippet.name))
    throw GraphError("ElementwiseKernel " + data.snippet.name + ": a kernel cannot be called so",
                     "use letters, digits and _");
  try {
    data.snippet.parameters = parse_parameters(parameters);
  } catch (GraphError& error) {
    error.add_where(in_kernel("ElementwiseKernel " + data.snippet.name, operation.where));
    throw;
  }
  data.snippet.operation = std::move(operation);
  data.snippet.preamble = std::move(options.preamble);
  data.flags = std::move(options.flags);
  bool writes = false;
  for (const RawParameter& parameter : data.snippet.parameters) {
    if (!parameter.is_pointer) continue;
    data.plain.push_back(!only_at_i(data.snippet.operation.text, parameter.name));
    writes |= !parameter.is_const;
  }
  if (!writes)
    throw GraphError("ElementwiseKernel " + data.snippet.name + ": no parameter is an output",
                     "write \"float* z\", without const");
}

/// Elements a thread for which no access is wider than a GPU's widest; see SnippetLayout::width.
int ElementwiseKernel::Data::width(std::span<const Array> arrays) const {
  std::size_t widest = 1;
  for (const Array& array : arrays) widest = std::max(widest, itemsize(array.dtype()));
  const int width = std::min<int>(kVectorBytes / static_cast<int>(widest), kMostNeighbours);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::size_t bytes = static_cast<std::size_t>(width) * itemsize(arrays[i].dtype());
    if (reinterpret_cast<std::uintptr_t>(arrays[i].data()) % bytes != 0) return 1;
    for (std::size_t j = 0; j < arrays.size() && is_output(i); ++j) {
      if (j != i && share_memory(arrays[i], arrays[j])) return 1;
    }
  }
  return width;
}

std::shared_ptr<const LoadedKernel> ElementwiseKernel::Data::kernel(Backend& backend, const SnippetLayout& layout) {
  std::string key{static_cast<char>(layout.rank), static_cast<char>(layout.width), layout.wide ? 'w' : 'n'};
  for (char dense : layout.dense) key += dense ? 'd' : 's';
  const std::pair<Backend*, std::string> place(&backend, std::move(key));
  {
    const std::lock_guard lock(mutex);
    if (const auto found = kernels.find(place); found != kernels.end()) return found->second;
  }
  CompileRequest request;
  request.source = elementwise_text(snippet, layout);
  request.kind = SourceKind::kCudaC;
  request.file_name = "generated";
  request.kernels = {kernel_name(snippet.name)};
  request.flags = flags;
  std::shared_ptr<const LoadedKernel> made = backend.cache().get(request)->kernel(request.kernels.front());
  const std::lock_guard lock(mutex);
  if (kernels.size() >= kMostKernels) kernels.clear();
  return kernels.try_emplace(place, std::move(made)).first->second;
}

void ElementwiseKernel::Data::launch(Backend& backend, std::span<const Array> arrays, std::span<const Scalar> numbers,
                                     const Shape& space) {
  SnippetLayout layout;
  bool all_dense = true;
  for (const Array& array : arrays) {
    const bool is_dense = array.shape() == space && array.is_contiguous();
    layout.dense.push_back(is_dense);
    all_dense &= is_dense;
  }
  SmallList<ArrayLayout, 8> strided;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!layout.dense[i]) strided.push_back({&arrays[i].shape(), &arrays[i].strides()});
  }
  std::optional<Geometry> geometry;
  if (!all_dense) layout.rank = geometry.emplace(space, strided).extents.rank();
  const std::int64_t size = space.size();
  layout.wide = size >= kNarrowLimit - kBlock * kMostNeighbours;
  if (all_dense && !layout.wide && backend.kind() == DeviceKind::kCuda) layout.width = width(arrays);
  SmallList<std::uint64_t, 32> block;  // members of eight bytes
  const auto put = [&block](const auto& values) {
    for (const std::int64_t value : values) block.push_back(static_cast<std::uint64_t>(value));
  };
  std::size_t array = 0, number = 0;
  for (const RawParameter& parameter : snippet.parameters) {
    std::uint64_t member = 0;
    if (parameter.is_pointer)
      member = reinterpret_cast<std::uintptr_t>(arrays[array++].data());
    else
      numbers[number++].store(&member);
    block.push_back(member);
  }
  block.push_back(static_cast<std::uint64_t>(size));
  if (layout.rank > 0) {
    put(geometry->extents);
    for (const Strides& strides : geometry->strides) put(strides);
  }
  const std::shared_ptr<const LoadedKernel> code = kernel(backend, layout);
  const std::int64_t threads = layout.wide ? std::min(size, kMostThreads) : (size + layout.width - 1) / layout.width;
  const LaunchConfig config{{(threads + kBlock - 1) / kBlock}, {kBlock}};
  check_launch(*code, config);
  void* pointers[] = {block.data()};
  backend.launches.fetch_add(1, std::memory_order_relaxed);
  backend.launch(*code, config, pointers, nullptr);
}

/// Copies what must be in C order, or must not be overwritten; launches; copies outputs back.
void ElementwiseKernel::Data::run(SnippetArguments& arguments) {
  std::vector<Array>& arrays = arguments.arrays;
  const Shape space = common_shape(snippet.name, arrays);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!is_output(i)) continue;
    if (!(arrays[i].shape() == space)) {
      throw ShapeError(snippet.name + ": an output of shape " + to_string(arrays[i].shape()) +
                           " beside arrays that broadcast to " + to_string(space),
                       "give it that shape");
    }
    check_writable(snippet.name, arrays[i]);
  }
  if (space.size() == 0) return;
  ArrayList list(arrays.size());
  std::vector<Array>& given = *list;
  given.assign(arrays.begin(), arrays.end());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    bool copies = plain[i] && !(arrays[i].shape() == space && arrays[i].is_contiguous());
    for (std::size_t j = 0; j < arrays.size() && !is_output(i) && !copies; ++j)
      copies = is_output(j) && (plain[i] ? share_memory(given[j], given[i]) : would_overwrite(given[j], given[i]));
    if (copies) arrays[i] = packed_copy(plain[i] ? given[i].broadcast_to(space) : given[i]);
  }
  launch(*arguments.backend, arrays, arguments.numbers, space);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (is_output(i) && arrays[i].data() != given[i].data()) copy_into(given[i], arrays[i]);
  }
}

void ElementwiseKernel::run(std::initializer_list<ArrayOperand> given) const {
  SnippetArguments arguments(data_->snippet.name, data_->snippet.parameters, std::span(given.begin(), given.size()));
  data_->run(arguments);
}

std::vector<Array> ElementwiseKernel::run_into_new(std::initializer_list<ArrayOperand> given) const {
  std::vector<RawParameter> inputs;
  for (const RawParameter& parameter : data_->snippet.parameters) {
    if (!parameter.is_pointer || parameter.is_const) inputs.push_back(parameter);
  }
  SnippetArguments arguments(data_->snippet.name, inputs, std::span(given.begin(), given.size()));
  const Shape space = common_shape(data_->snippet.name, arguments.arrays);
  std::vector<Array> all, results;
  std::size_t next = 0;
  for (const RawParameter& parameter : data_->snippet.parameters) {
    if (!parameter.is_pointer) continue;
    all.push_back(parameter.is_const ? arguments.arrays[next++]
                                     : Array::empty(space, parameter.dtype, Device(arguments.backend)));
    if (!parameter.is_const) results.push_back(all.back());
  }
  arguments.arrays = std::move(all);
  data_->run(arguments);
  return results;
}

}  // namespace damo
