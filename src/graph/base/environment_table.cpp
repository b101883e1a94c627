#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "graph/base/environment.hpp"

namespace damo {
namespace {

bool anything(std::string_view) { return true; }
bool is_switch(std::string_view value) { return value == "0" || value == "1"; }

template <class Number>
bool is_number(std::string_view value, Number least, Number most) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() && number >= least && number <= most;
}

bool is_seconds(std::string_view value) { return is_number(value, 0.0, 1e300); }
bool is_thread_count(std::string_view value) { return is_number(value, 1, 4096); }

bool is_bytes(std::string_view value) {
  if (!value.empty() && std::string_view("KMG").find(value.back()) != std::string_view::npos) value.remove_suffix(1);
  return is_number(value, 0LL, 1LL << 62);
}

bool is_device(std::string_view value) {
  if (value == "cpu" || value == "cuda" || value == "null") return true;
  return value.starts_with("cuda:") && is_number(value.substr(5), 0, 1 << 20);
}

/// Numbers with commas between them.
template <int kCount>
bool are_numbers(std::string_view value) {
  int count = 1;
  for (std::size_t comma; (comma = value.find(',')) != std::string_view::npos; ++count, value.remove_prefix(comma + 1)) {
    if (!is_number(value.substr(0, comma), 0, 1 << 20)) return false;
  }
  return count == kCount && is_number(value, 0, 1 << 20);
}

template <class... Words>
bool is_one_of(std::string_view value, Words... words) {
  return ((value == words) || ...);
}

constexpr EnvironmentVariable kVariables[] = {
    {"DAMO_DEVICE", "`cpu`, `cuda`, `cuda:1`, `null`", "the first GPU, else the CPU", "the default device", is_device},
    {"DAMO_LOG", "`debug`, `info`, `warning`, `error`, `off`", "`info`", "lines to log; `debug` shows compiles and cache hits",
     [](std::string_view value) { return is_one_of(value, "debug", "info", "warning", "error", "off"); }},
    {"DAMO_CACHE_DIR", "a directory", "`$XDG_CACHE_HOME/damo`, else `~/.cache/damo`", "where the kernel cache is", anything},
    {"DAMO_CACHE_LIMIT", "bytes, or with K, M, G; 0: no disk cache", "`1G`", "its size; the least recently used go first", is_bytes},
    {"DAMO_DUMP", "a directory", "none", "the source of each kernel that is compiled or loaded is written there", anything},
    {"DAMO_DISABLE", "names: `attention_kernels,divide_among_parts,divide_rows,forward_shapes,fuse_elementwise,fuse_loops,fuse_pads,fuse_products,fuse_takes,join_exponentials,join_moments,join_sinks,join_sorts,merge_duplicates,pad_fills,pass_contiguous,push_out_of_loops,reduce_in_steps,refine_spaces,replay,rewrite_inner_graphs,seek_elements,side_by_side,simplify,sink_branches,trim_loops,use_tf32`", "none", "passes and rewrite rules (docs/rewrites.md) to leave out; `join_moments`: means and variances of long rows are not joined in one reading; `seek_elements`: a sum of which all elements but one are 0 is joined as any other; `replay`: calls are not replayed as graphs; `side_by_side`: the kernels of a replayed graph run one after another, each begun when the one before has ended", anything},
    {"DAMO_NUM_THREADS", "1 to 4096", "all cores this process may use", "threads that kernels of the CPU use", is_thread_count},
    {"DAMO_COMPILE_TIME_LIMIT", "seconds", "none", "when the CPU's compiler gives a kernel up; what it held of memory is lost", is_seconds},
    {"DAMO_KERNEL_TIME_LIMIT", "seconds", "none", "when a CUDA C kernel on the CPU is stopped with an error", is_seconds},
    {"DAMO_NVRTC_PATH", "a directory, or the file", "`CUDA_HOME`, `CUDA_PATH`, `LD_LIBRARY_PATH`, the usual places", "where libnvrtc.so is", anything},
    {"DAMO_LAPACK_PATH", "the library's file", "`libopenblas.so.0`, else `liblapack.so.3`", "what factors matrices on the CPU", anything},
    {"DAMO_CUSOLVER_PATH", "a directory, or the file", "as for libnvrtc.so", "where libcusolver.so and libcublas.so are, which factor matrices on GPUs", anything},
    {"DAMO_CUFFT_PATH", "a directory, or the file", "as for libnvrtc.so", "where libcufft.so is, which computes Fourier transforms on GPUs", anything},
    {"DAMO_BLAS_PATH", "the library's file, or `none`", "`libopenblas.so.0`, else `libblas.so.3` where that is a fast one", "what computes matrix products on the CPU; `none`: kernels of Damo's own", anything},
    {"DAMO_ONEDNN_PATH", "the library's file, or `none`", "`libdnnl.so.3`, `libdnnl.so.3.6` or `libdnnl.so.2`", "what computes products of bfloat16 and int8 on CPUs with instructions for them; `none`: float32, and a kernel of Damo's own", anything},
    {"DAMO_CUBLASLT_PATH", "a directory, the file, or `none`", "as for libnvrtc.so", "where libcublasLt.so is, which computes matrix products on GPUs; `none`: kernels of Damo's own", anything},
    {"DAMO_CUDNN_PATH", "a directory, the file, or `none`", "as for libnvrtc.so, else where the loader looks", "where libcudnn.so.9 is, which computes convolutions on GPUs; `none`: kernels of Damo's own", anything},
    {"DAMO_TUNE", "0, 1", "1", "of several ways to compute a matrix product or a convolution on a GPU the fastest is measured at the first call and kept in the kernel cache, and so are schedules of generated kernels that come again and take long; 0: the library's guess, and the model's", is_switch},
    {"DAMO_PLUGIN_DIR", "a directory", "where Damo was installed, or beside the program or library", "where the CPU compiler plugin is", anything},
    {"DAMO_SYNC", "0, 1", "0", "each launch on a GPU waits for its kernel, so that a fault is thrown by the launch that caused it", is_switch},
    {"DAMO_CHECK", "0, 1", "0", "`ModuleOptions::check` is on unless a program says otherwise: accesses of kernels on the CPU are checked", is_switch},
    {"DAMO_TF32", "0, 1", "0", "products and convolutions of float32 Arrays may use tensor cores that round operands to 10 bits of fraction; the default of `Options::tf32`", is_switch},
    {"DAMO_POISON", "0, 1", "0", "new buffers are filled with a pattern, so that a kernel that leaves elements unwritten is found", is_switch},
    {"DAMO_CPU_FORM", "`coroutines`, `reference`", "loops where they can be had",
     "for comparing CUDA C on the CPU. `coroutines`: threads that wait for each other never become loops. `reference`: each "
     "thread runs by itself, nothing is made parallel or vectorised; slow, and right by construction",
     [](std::string_view value) { return is_one_of(value, "coroutines", "reference"); }},
    {"DAMO_CPU_ISA", "`x86-64-v2`, `x86-64-v3`, `x86-64-v4`, `native`", "`native`", "the instructions that kernels on the CPU may use; those of a level other machines find in a shared cache too",
     [](std::string_view value) { return is_one_of(value, "x86-64-v2", "x86-64-v3", "x86-64-v4", "native"); }},
    {"DAMO_CUDA_SCHEDULE", "`block,vector,unroll`", "chosen for each kernel", "the shape of generated CUDA kernels, for measuring", are_numbers<3>},
    {"DAMO_CUDA_TILE", "`inner,other,threads,other_first`", "chosen for each kernel", "the tiles of generated CUDA kernels that read transposed arrays, for measuring",
     are_numbers<4>},
    {"DAMO_CUDA_ROWS", "`lanes,items,cluster,residents`", "chosen for each kernel",
     "how generated CUDA kernels that reduce share rows out, 0 for what is chosen; for measuring", are_numbers<4>},
};

/// Letters to insert, leave out or replace.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::string_view nearest(std::string_view written, std::span<const std::string_view> words) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(written.size() / 3, 1) + 1;  // a third of it mistyped, at most
  for (const std::string_view word : words) {
    if (const std::size_t letters = distance(written, word); letters < least) {
      best = word;
      least = letters;
    }
  }
  return best;
}

}  // namespace damo
