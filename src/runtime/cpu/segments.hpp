// How a long kernel runs on the CPU: in segments, each a loop over a strip of elements, with what one leaves to the next in
// a strip of memory that stays in the first-level cache.
//
// A processor hides the latency of a chain of instructions by starting on later elements, and sees a few hundred instructions
// ahead (256 on Zen 3, 512 on Golden Cove). A loop whose body is longer than a part of that runs at the latency of its chain:
// 50 sines in one loop took 1.66 times as long as in 50 loops. Long bodies need more than the 16 or 32 vector registers too,
// and the compiler takes longer than in proportion. Strips cost a load and a store for each value that crosses. Segments that
// do the same, but for numbers, are one function: a chain of 1,000 equal links compiles as one link does.
#pragma once
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

struct CpuSegment {
  /// Its inputs: arrays of the kernel, then values of earlier segments. Its outputs: values for later ones, then the kernel's.
  KernelSpec spec;
  std::vector<int> arrays;   ///< for each of the first inputs, the kernel's parameter
  std::vector<int> reads;    ///< for each of the others, the strip in which it lies
  std::vector<int> keeps;    ///< for each of the first outputs, the strip
  std::vector<int> stores;   ///< for each of the others, the kernel's parameter
  std::vector<int> numbers;  ///< for each of its numbers, the kernel's
};

struct CpuSegments {
  /// One segment, and no strips, where the kernel is short.
  explicit CpuSegments(const KernelSpec& spec);

  std::vector<CpuSegment> segments;
  std::vector<DType> strips;  ///< what each holds: float16 and bfloat16 as float32, as they are in registers
  int strip = 0;              ///< elements of each strip
};

}  // namespace damo
