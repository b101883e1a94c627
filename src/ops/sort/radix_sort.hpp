// Words of 64 bits in order, row by row, and where each came from: a stable radix sort from the least digit on (Knuth, The Art of Computer
// Programming 3, 5.2.5). What sorting and the sums of repeated positions rest on.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include <damo/kernel.hpp>

namespace damo {

/// How kernels come to be: ThunkContext::compile, or a Module's.
using CompileKernel = std::function<Kernel(std::string_view source, std::string_view name)>;

class RadixSort {
 public:
  explicit RadixSort(const CompileKernel& compile);
  /// keys: rows times count words, contiguous, of which only the lowest `bits` differ. sorted: the same in order, which may not be keys; order:
  /// int64 of as many, the place in its row that each had, ascending among equals. Cost: 5 reads and writes of both for each 8 bits. ShapeError for rows of 2^32 words or more.
  void operator()(const Array& keys, std::int64_t rows, std::int64_t count, int bits, const Array& sorted, const Array& order) const;

 private:
  Kernel count_digits_, scan_counts_, move_digits_;
};

}  // namespace damo
