// The text of a reduction's kernels, for a GPU and for the CPU.
//
// On both, the elements of an output are cut into chunks. `main` reduces each chunk; if there is one, it stores the
// result, else its value, and `finish` reduces the values of the chunks. The cut follows from shapes and device alone,
// so results are the same at every call.
//
//   GPU   a block has 256 threads: `lanes` of them share an output's chunk, neighbours in memory to neighbours in the
//         block: along the reduced axes (kRows), or along the kept ones (kColumns). Each keeps several partial values,
//         so that as many loads are under way; a tree in shared memory joins the lanes.
//   CPU   no barrier: a block is one thread that reduces whole outputs (kRows) or `lanes` neighbouring ones (kColumns)
//         with plain loops over `lanes` partial values, which vectorise. Barriers would cost more than the sums.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <damo/source_text.hpp>

#include "ops/raw_parameter.hpp"
#include "runtime/backend.hpp"

namespace damo {

/// What is computed, in CUDA C. Expressions see every parameter by its name; arrays as x[i].
struct ReductionDefinition {
  std::string name;                      ///< an identifier
  SourceText preamble;                   ///< helpers and types, before everything else
  std::vector<RawParameter> parameters;  ///< const arrays and scalars
  std::string accumulator;               ///< its C type; trivially copyable, at most kMostAccumulatorBytes
  std::size_t accumulator_bytes = 0;     ///< 0: not known
  SourceText neutral;                    ///< reduce(neutral, a) is a
  SourceText reduce;                     ///< of a and b; associative and commutative
  SourceText map;   ///< of x[i], ...; i: the element's number in C order, r: its place in the reduction
  SourceText post;  ///< of a and n, the number reduced; empty: a
  DType result = float32;
  std::vector<std::string> flags;
};

inline constexpr std::size_t kMostAccumulatorBytes = 64;

enum class ReductionForm : std::uint8_t { kRows, kColumns };

/// What the text is specialised on: no extent.
struct ReductionLayout {
  bool gpu = false;
  ReductionForm form = ReductionForm::kRows;
  int lanes = 256;
  int kept_rank = 0, reduced_rank = 0;
  bool wide = false;  ///< positions need 64 bits
  bool with_index = false;
  bool finishes = false;    ///< one chunk: main stores results
  std::vector<bool> plain;  ///< array by array: a pointer to elements in C order, which i finds
  std::vector<bool> unit;   ///< the stride along the form's inner axis is 1; last: the index's
};

/// main and finish of that layout, as one source; finish only if main does not finish.
std::string reduction_text(const ReductionDefinition& definition, const ReductionLayout& layout);
inline std::string main_kernel(const ReductionDefinition& definition) { return "damo_reduction_" + definition.name; }
inline std::string finish_kernel(const ReductionDefinition& definition) { return main_kernel(definition) + "_finish"; }

/// The kernels' argument, in the order in which the text declares it: each member has eight bytes.
class ReductionArguments {
 public:
  void put(std::uint64_t word) { words_.push_back(word); }
  void put_address(const void* address) { put(reinterpret_cast<std::uintptr_t>(address)); }
  void put(const std::vector<std::int64_t>& values) {
    for (std::int64_t value : values) put(static_cast<std::uint64_t>(value));
  }
  void* data() { return words_.data(); }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace damo
