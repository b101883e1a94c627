// Parameters saved and loaded while other threads call Functions that update them (io/parameters.hpp).
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/function.hpp>
#include <damo/io/parameters.hpp>
#include <damo/io/safetensors.hpp>
#include <damo/raw_kernel.hpp>

#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class SharedParametersOnEachDevice : public OnEachDevice {
 protected:
  /// A thread that calls work() again and again while this lives.
  template <class Work>
  class Meanwhile {
   public:
    explicit Meanwhile(Work work) : thread_([this, work] { while (!is_over_) work(); }) {}
    ~Meanwhile() {
      is_over_ = true;
      thread_.join();
    }

   private:
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
  };
};
DAMO_ON_EACH_DEVICE(SharedParametersOnEachDevice);

TEST_P(SharedParametersOnEachDevice, AreSavedAsTheyAreBetweenTwoCallsThatUpdateThem) {
  const ScratchDirectory folder;
  const Array zeros = Array::zeros({3000}, float32, device());
  const Shared a = shared("a", zeros), b = shared("b", zeros);
  const Function step = function({}, {}, {.device = device(), .updates = {{a, a + 1.0}, {b, b + 1.0}}});
  const Meanwhile training([&] { step(); });
  for (int i = 0; i < 50; ++i) {
    const std::string path = folder / (DAMO_HAS_ZIP && i % 2 == 0 ? "model.npz" : "model.safetensors");
    save(path, {a, b});
    const NamedArrays saved = path.ends_with(".npz") ? npz::load(path, device()) : safetensors::load(path, device());
    const std::vector<float> steps = saved.at("a").to_vector<float>();
    EXPECT_THAT(steps, Each(steps[0]));
    EXPECT_EQ(saved.at("b").to_vector<float>(), steps);
  }
}

TEST_P(SharedParametersOnEachDevice, AreLoadedAtOneMoment) {
  const ScratchDirectory folder;
  const std::string path = folder / "model.safetensors";
  const Array zeros = Array::zeros({3000}, float32, device());
  const Shared a = shared("a", zeros), b = shared("b", zeros);
  const Function step = function({}, {}, {.device = device(), .updates = {{a, a + 1.0}, {b, b + 1.0}}}), read = function({}, {a, b}, {.device = device()});
  save(path, {a, b});
  std::atomic<int> torn = 0;
  {
    const Meanwhile reading([&] {
      const auto [now_a, now_b] = read.call<2>();
      torn += now_a.to_vector<float>() != now_b.to_vector<float>();
    });
    const Meanwhile training([&] { step(); });
    for (int i = 0; i < 100; ++i) load(path, {b, a});
  }
  EXPECT_EQ(torn, 0);
}

TEST_P(SharedParametersOnEachDevice, ThatLostTheirValueHaveOneAgainOnceTheyAreLoaded) {
  const RawKernel doubled{{.name = "doubled",
                           .inputs = {"float* w", "const float* x"},
                           .outputs = {"float* w"},
                           .body = "w[threadIdx.x] *= 2.0f;",
                           .launch = [](const KernelShapes& s) { return LaunchConfig{.grid = {1}, .block = {s.inputs[1].size() > 2 ? 1 << 20 : 2}}; },
                           .overwrites = {"w"}}};
  const ScratchDirectory folder;
  const std::string path = folder / "model.safetensors";
  const Shared w = shared("w", array({1, 2}));
  save(path, {w});
  const Variable x = vector("x");
  const Function f = function({x}, {}, {.device = device(), .updates = {{w, doubled(w, x)}}});
  f(array({0, 0}));
  EXPECT_THAT(w.array().to_vector<float>(), ElementsAre(2, 4));
  EXPECT_THAT(error_of([&] { f(array({0, 0, 0})); }), HasSubstr("block"));
  EXPECT_THAT(error_of<DeviceError>([&] { save(path, {w}); }), HasSubstr("shared variable w float32 (2,) has no value"));
  load(path, {w});
  f(array({0, 0}));
  EXPECT_THAT(w.array().to_vector<float>(), ElementsAre(2, 4));
}

}  // namespace
