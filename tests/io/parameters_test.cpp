#include <damo/io/parameters.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/io/npy.hpp>
#include <damo/io/safetensors.hpp>

#include "io/files.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::HasSubstr;

namespace {

class ParametersOnEachDevice : public OnEachDevice {};
DAMO_ON_EACH_DEVICE(ParametersOnEachDevice);

TEST_P(ParametersOnEachDevice, ComeBackAsTheyWere) {
  const ScratchDirectory folder;
  const Shared w = shared("w", range({2, 3})), b = shared("b", extremes(float16, device()));
  for (const std::string name : {"model.safetensors", DAMO_HAS_ZIP ? "model.npz" : "second.safetensors"}) {
    save(folder / name, {w, b});
    const Shared w2 = shared("w", Array::zeros({2, 3}, float32, device())), b2 = shared("b", Array::zeros({2, 3}, float16, device()), {kUnknown, 3});
    load(folder / name, {b2, w2});
    EXPECT_EQ(bits(w2.array()), bits(w.array()));
    EXPECT_EQ(bits(b2.array()), bits(b.array()));
  }
}

TEST(Parameters, AllThatDoesNotFitIsOneErrorAndNothingChanges) {
  const ScratchDirectory folder;
  const Device cpu("cpu");
  const std::string path = folder / "model.safetensors";
  safetensors::save(path, {{"w", Array::ones({2, 3}, float32, cpu)}, {"fits", Array::ones({2}, float32, cpu)}, {"half", Array::ones({2}, float16, cpu)}, {"old", Array::ones({1}, int32, cpu)}});
  const Shared w = shared("w", Array::zeros({3, 2}, float32, cpu)), fits = shared("fits", Array::zeros({2}, float32, cpu)), half = shared("half", Array::zeros({2}, float32, cpu)),
               bias = shared("bias", Array::zeros({2}, float32, cpu));
  EXPECT_EQ(error_of<FileError>([&] { load(path, {w, fits, half, bias}); }),
            "parameters: " + path + " does not fit: 4 differences\n"
            "  bias float32 (2,): not in the file, "
            "half float32 (2,): in the file float16 (2,), "
            "w float32 (3, 2): in the file float32 (2, 3), "
            "old: in the file only, int32 (1,)");
  EXPECT_EQ(fits.array().to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Parameters, NeedNamesOfTheirOwn) {
  const Array zero = Array::zeros({1}, float32, Device("cpu"));
  const Shared a = shared("a", zero), again = shared("a", zero), nameless = shared("", zero);
  EXPECT_THAT(error_of<GraphError>([&] { save("/nowhere/x.safetensors", {a, again}); }), HasSubstr("two are called a"));
  EXPECT_THAT(error_of<GraphError>([&] { save("/nowhere/x.safetensors", {nameless}); }), HasSubstr("has no name to be saved under"));
  EXPECT_THAT(error_of<OptionError>([&] { save("/nowhere/x.pt", {a}); }), HasSubstr("ends in .safetensors or .npz"));
}

}  // namespace
