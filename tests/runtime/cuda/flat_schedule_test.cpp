// Which arrays a flat tile moves in vectors, and how many of them: runtime/cuda/flat_schedule.hpp.
#include "runtime/cuda/flat_schedule.hpp"

#include <gtest/gtest.h>

#include "runtime/cuda/schedule.hpp"

namespace damo {
namespace {

struct TurnedArray {
  DType dtype;
  Strides strides;
};

/// Of what reads all but the last array, which it writes, over (pictures, few, many) or (pictures, many, few).
KernelSpec turning(const std::vector<TurnedArray>& operands) {
  KernelSpec spec;
  for (const TurnedArray& operand : operands) spec.inputs.push_back(operand.dtype);
  spec.outputs = {spec.inputs.back()};
  spec.inputs.pop_back();
  return spec;
}

Layout laid_flat(const Shape& space, const std::vector<TurnedArray>& operands, const KernelSpec& spec) {
  std::vector<ArrayLayout> arrays;
  for (const TurnedArray& operand : operands) arrays.push_back({&space, &operand.strides});
  const Geometry geometry(space, arrays);
  return lay_flat(spec, classify(geometry, spec.input_count(), 2), geometry);
}

std::string flat_text(const Shape& space, const std::vector<TurnedArray>& operands) { return to_string(laid_flat(space, operands, turning(operands))); }

TEST(LayFlat, MovesPicturesSideBySideAndPlanesInVectors) {
  EXPECT_EQ(flat_text({2, 3, 4096}, {{float32, {12288, 1, 3}}, {float32, {12288, 4096, 1}}}), "r3 tile1 of 4, 3 places, 2 vectors of 4, transposed row");
  EXPECT_EQ(flat_text({2, 4096, 3}, {{float32, {12288, 1, 4096}}, {float32, {12288, 3, 1}}}), "r3 tile1 last of 4, 3 places, 2 vectors of 4, row transposed") << "and back";
  EXPECT_EQ(flat_text({2, 3, 4096}, {{uint8, {12288, 1, 3}}, {float32, {0, 1, 0}}, {float32, {4096, 0, 1}}, {float32, {12288, 4096, 1}}}), "r3 tile1 of 4, 3 places, 4 vectors of 16, transposed steady repeat row")
      << "what a colour has, and what a position has";
}

TEST(LayFlat, KeepsToVectorsThatBeginWhereTheyAreAligned) {
  EXPECT_EQ(flat_text({2, 3, 4098}, {{float32, {12294, 1, 3}}, {float32, {12294, 4098, 1}}}), "r3 tile1 of 4, 3 places, 4 vectors of 2, transposed row");
  EXPECT_EQ(flat_text({2, 3, 4097}, {{float32, {12291, 1, 3}}, {float32, {12291, 4097, 1}}}), "r3 tile1 of 4, 3 places, 8 vectors of 1, transposed row");
  EXPECT_EQ(flat_text({2, 3, 4096}, {{float32, {12289, 1, 3}}, {float32, {12288, 4096, 1}}}), "r3 tile1 of 4, 3 places, 8 vectors of 1, transposed row") << "the second picture begins an element later";
}

TEST(LayFlat, LeavesArraysWithGapsAsTheyWere) {
  EXPECT_EQ(flat_text({2, 3, 4096}, {{float32, {16384, 1, 4}}, {float32, {12288, 4096, 1}}}), "r3 tile1 of 4 transposed dense") << "three colours of four: no piece of memory";
  EXPECT_EQ(flat_text({2, 3, 4096}, {{float32, {12288, 1, 3}}, {float32, {16384, 1, 4}}, {float32, {12288, 4096, 1}}}), "r3 tile1 of 4, 3 places, 2 vectors of 4, transposed strided row") << "beside one that is whole";
}

TEST(LayFlat, HasRoomInRegistersAndSharedMemory) {
  for (const DType dtype : {uint8, bfloat16, float32, float64}) {
    for (std::int64_t places = 2; places < kManyPlaces; ++places) {
      for (const std::size_t inputs : {std::size_t{1}, std::size_t{3}, std::size_t{9}}) {
        std::vector<TurnedArray> operands(inputs, {dtype, {4096 * places, 1, places}});
        operands.push_back({dtype, {4096 * places, 4096, 1}});
        const KernelSpec spec = turning(operands);
        const Layout layout = laid_flat({2, places, 4096}, operands, spec);
        if (layout.places == 0) continue;  // too many for a thread
        int bytes = 0;
        for (int i = 0; i < spec.parameter_count(); ++i) bytes += flat_bytes(spec, layout, i);
        EXPECT_LE(flat_warps(spec, layout) * bytes, 48 * 1024) << to_string(layout);
        const CudaFlat flat = cuda_flat(spec, layout);
        const int width = flat_width(spec, layout, 0);
        EXPECT_EQ(flat.vector * flat.units % width, 0) << "each lane has whole vectors: " << to_string(layout);
        EXPECT_LE(width * spec.element_bytes(0), kVectorBytes);
        EXPECT_LE(static_cast<int>(inputs) * flat.vector * static_cast<int>(places) * spec.element_bytes(0), 4 * 96) << to_string(layout);
      }
    }
  }
}

}  // namespace
}  // namespace damo
