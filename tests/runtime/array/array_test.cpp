#include <damo/array.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "support/host_backend.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::HostBackend;

struct ArrayTest : ::testing::Test {
  HostBackend backend, other{"other"}, gpu{"cuda:0", DeviceKind::kCuda};
  Device device{&backend}, second{&other}, on_gpu{&gpu};
};

std::vector<float> counted(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST_F(ArrayTest, RefusesANullAddressOfTheHost) {
  const auto text = [](auto work) { return error_of<TypeError>(work); };
  EXPECT_THAT(text([&] { Array::borrow(nullptr, float32, {3}, {1}, device); }),
              HasSubstr("Array::borrow: the host address is null, and 12 bytes are wanted"));
  EXPECT_THAT(text([&] { Array::from_bytes(nullptr, 2, float64, {2}, device); }),
              HasSubstr("Array::from: the host address is null, and 16 bytes are wanted"));
  EXPECT_THAT(text([&] { Array::zeros({2}, float32, device).to_host(nullptr); }),
              HasSubstr("to_host: the host address is null, and 8 bytes are wanted"));
  EXPECT_EQ(Array::borrow(nullptr, float32, {0}, {1}, device).size(), 0);
}

TEST_F(ArrayTest, TakesVectorsOfBoolsWhoseElementsLieInBits) {
  const std::vector<bool> bools = {true, false, false, true};
  EXPECT_EQ(Array::from(bools, device).dtype(), bool_);
  EXPECT_EQ(Array::from(bools, device).to_doubles(), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(Array::from(bools, {2, 2}, device).shape(), (Shape{2, 2}));
  EXPECT_THAT(error_of<ShapeError>([&] { Array::from(bools, {3}, device); }), HasSubstr("4"));
}

TEST_F(ArrayTest, StartsEmpty) {
  const Array array{};
  EXPECT_FALSE(array);
  EXPECT_EQ(array.size(), 0);
  EXPECT_FALSE(array.is_unique());
  EXPECT_FALSE(array.shares_buffer_with(array));
  EXPECT_EQ(describe(array), "empty Array");
  EXPECT_THAT(error_of<TypeError>([&] { array.device(); }), HasSubstr("an empty Array is on no device"));
  const Array copy = array.copy();
  EXPECT_FALSE(copy);
}

TEST_F(ArrayTest, KnowsWhatItIs) {
  const Array array = Array::empty({3, 4}, float64, device);
  EXPECT_TRUE(array);
  EXPECT_EQ(array.dtype(), float64);
  EXPECT_EQ(array.rank(), 2);
  EXPECT_EQ(array.size(), 12);
  EXPECT_EQ(array.nbytes(), 96u);
  EXPECT_EQ(array.strides(), (Strides{4, 1}));
  EXPECT_TRUE(array.is_contiguous());
  EXPECT_EQ(array.device(), device);
  EXPECT_EQ(describe(array), "float64 (3, 4) on host");
}

TEST_F(ArrayTest, FillsInEachDtype) {
  for (DType dtype : kAllDTypes) {
    EXPECT_THAT(Array::zeros({5}, dtype, device).to_doubles(), Each(0.0)) << name(dtype);
    EXPECT_THAT(Array::ones({2, 2}, dtype, device).to_doubles(), Each(1.0)) << name(dtype);
  }
  EXPECT_THAT(Array::full({3}, 2.5, float16, device).to_doubles(), Each(2.5));
  EXPECT_THAT(Array::full({3}, -7, int16, device).to_doubles(), Each(-7.0));
}

TEST_F(ArrayTest, CopiesHostValuesInAndOut) {
  const std::vector<float> values = counted(6);
  const Array array = Array::from(values, {2, 3}, device);
  EXPECT_EQ(array.to_vector<float>(), values);
  EXPECT_EQ(array.shape(), (Shape{2, 3}));
  EXPECT_EQ(Array::from(values, device).shape(), (Shape{6}));
}

TEST_F(ArrayTest, RefusesValuesThatDoNotFillTheShape) {
  EXPECT_THAT(error_of<ShapeError>([&] {
                Array::from(counted(5), {2, 3}, device);
              }),
              HasSubstr("Array::from: 5 values do not fill shape (2, 3), which has 6 elements"));
}

TEST_F(ArrayTest, RefusesShapesThatCannotBe) {
  EXPECT_THAT(error_of<ShapeError>([&] {
                Array::empty({2, -3}, float32, device);
              }),
              HasSubstr("the extent of axis 1 is -3"));
  EXPECT_THAT(error_of<ShapeError>([&] { Array::empty({std::int64_t{1} << 61}, float64, device); }),
              HasSubstr("more than 2^63 bytes"));
}

TEST_F(ArrayTest, HoldsOneElementWithoutAxes) {
  const Array array = Array::scalar(2.5, device);
  EXPECT_EQ(array.rank(), 0);
  EXPECT_EQ(array.size(), 1);
  EXPECT_EQ(array.dtype(), float64);
  EXPECT_EQ(array.item().as_double(), 2.5);
  EXPECT_EQ(Array::scalar(std::int64_t{1} << 62, device).item().as_int(), std::int64_t{1} << 62);
}

TEST_F(ArrayTest, HoldsNoElementsButAShape) {
  const Array array = Array::zeros({0, 3}, float32, device);
  EXPECT_TRUE(array);
  EXPECT_EQ(array.nbytes(), 0u);
  EXPECT_TRUE(array.is_contiguous());
  EXPECT_TRUE(array.to_vector<float>().empty());
  EXPECT_EQ(array.copy().shape(), (Shape{0, 3}));
  EXPECT_EQ(array.address_range().first, array.address_range().second);
  EXPECT_EQ(Array::from(std::vector<float>{}, {0}, device).size(), 0);
  EXPECT_EQ(backend.allocations, 0);
}

TEST_F(ArrayTest, ReadsElementsOnlyAsTheirOwnType) {
  const Array array = Array::zeros({2}, float32, device);
  EXPECT_THAT(error_of<TypeError>([&] { array.to_vector<double>(); }),
              AllOf(HasSubstr("this array is float32 (2,) on host: its elements cannot be read as float64"),
                    HasSubstr("to_doubles()")));
}

TEST_F(ArrayTest, GivesAnItemOfOneElementOnly) {
  EXPECT_THAT(error_of<ShapeError>([&] {
                Array::zeros({2, 2}, float32, device).item();
              }),
              HasSubstr("4 elements, not one"));
  EXPECT_EQ(Array::full({1, 1}, 3, int32, device).item().as_int(), 3);
}

TEST_F(ArrayTest, SharesItsElementsWhenCopied) {
  Array a = Array::zeros({2}, float32, device);
  EXPECT_TRUE(a.is_unique());
  {
    const Array b = a;
    EXPECT_EQ(a.data(), b.data());
    EXPECT_TRUE(a.shares_buffer_with(b));
    EXPECT_FALSE(a.is_unique());
  }
  EXPECT_TRUE(a.is_unique());
  const Array moved = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(a.size(), 0);
  EXPECT_TRUE(moved.is_unique());
}

TEST_F(ArrayTest, ChangesPlacesWithAnotherOneOfAnyLayout) {
  Array a = Array::from(counted(6), {2, 3}, device), b = Array::from(counted(6), {2, 3}, device).reshape({3, 2}).transpose(), c = Array::from(counted(1), {}, device), none;
  const void *const of_a = a.data(), *const of_b = b.data();
  swap(a, b);
  EXPECT_EQ(a.data(), of_b);
  EXPECT_EQ(a.strides(), (Strides{1, 2})) << "of one shape";
  EXPECT_EQ(b.strides(), (Strides{3, 1}));
  EXPECT_THAT(a.to_vector<float>(), ElementsAre(0, 2, 4, 1, 3, 5));
  swap(b, c);
  EXPECT_EQ(c.data(), of_a);
  EXPECT_EQ(c.shape(), (Shape{2, 3}));
  EXPECT_EQ(b.shape(), Shape());
  EXPECT_EQ(b.size(), 1);
  swap(a, a);
  EXPECT_EQ(a.data(), of_b);
  swap(c, none);
  EXPECT_FALSE(c);
  EXPECT_EQ(none.to_vector<float>(), counted(6));
  EXPECT_TRUE(none.is_unique());
}

TEST_F(ArrayTest, GivesItsMemoryBackWithTheLastShare) {
  Array a = Array::zeros({1000}, float32, device);
  Array b = a, c = b;
  a = Array();
  b = b;
  Array& same = c;  // through a reference, so that the compiler does not warn of what is tested
  c = std::move(same);
  b = c;
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 4096u);
  b = Array();
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 4096u);
  c = Array();
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 0u);
}

TEST_F(ArrayTest, CountsItsSharesAmongThreads) {
  {
    const Array array = Array::zeros({10}, float32, device);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([array] {
        for (int round = 0; round < 1000; ++round) Array(array).transpose();
      });
    }
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    EXPECT_TRUE(array.is_unique());
  }
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 0u);
}

TEST_F(ArrayTest, NamesItsShapeWhenThereIsNoMemory) {
  backend.fail_after(1 << 20);
  EXPECT_THAT(error_of<OutOfMemoryError>([&] {
                Array::zeros({1024, 1024}, float32, device);
              }),
              AllOf(HasSubstr("host: out of memory: 4.00 MiB asked for"), HasSubstr("float32 (1024, 1024)")));
}

TEST_F(ArrayTest, BorrowsHostElementsInPlaceOnTheCpu) {
  float values[] = {0, 1, 2, 3, 4, 5};
  const Array array = Array::borrow(values + 4, float32, {2, 2}, {-3, 1}, device);
  EXPECT_EQ(array.data(), values + 4);
  values[1] = 10;
  EXPECT_THAT(array.to_vector<float>(), ElementsAre(4, 5, 10, 2));
  EXPECT_EQ(array.address_range().first, reinterpret_cast<std::byte*>(values + 1));
  EXPECT_EQ(array.address_range().second, reinterpret_cast<std::byte*>(values + 6));
  EXPECT_EQ(backend.allocations, 0);
}

TEST_F(ArrayTest, CopiesBorrowedElementsToAGpu) {
  float values[] = {0, 1, 2, 3, 4, 5};
  const Array array = Array::borrow(values + 4, float32, {2, 2}, {-3, 1}, on_gpu);
  EXPECT_EQ(gpu.copied_bytes, 5u * 4);
  values[1] = 10;
  EXPECT_THAT(array.to_vector<float>(), ElementsAre(4, 5, 1, 2));
}

TEST_F(ArrayTest, RefusesToBorrowWithStridesOfAnotherRank) {
  float value = 0;
  EXPECT_THAT(error_of<ShapeError>([&] {
                Array::borrow(&value, float32, {1, 1}, {1}, device);
              }),
              HasSubstr("shape (1, 1) has 2 axes, strides (1,) have 1"));
}

TEST_F(ArrayTest, ReadsElementsAtAnyAddress) {
  std::vector<std::byte> bytes(33);
  const double numbers[] = {1.5, -2.5, 3.5, 4.5};
  std::memcpy(bytes.data() + 1, numbers, sizeof numbers);
  const Array array = Array::borrow(bytes.data() + 1, float64, {2, 2}, {1, 2}, device);
  EXPECT_THAT(array.to_vector<double>(), ElementsAre(1.5, 3.5, -2.5, 4.5));
}

TEST_F(ArrayTest, CopiesIntoNewElements) {
  const Array a = Array::from(counted(6), {2, 3}, device), b = a.transpose().copy();
  EXPECT_FALSE(a.shares_buffer_with(b));
  EXPECT_TRUE(b.is_contiguous());
  EXPECT_THAT(b.to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_TRUE(a.contiguous().shares_buffer_with(a));
  EXPECT_FALSE(a.transpose().contiguous().shares_buffer_with(a));
}

TEST_F(ArrayTest, MovesBetweenDevices) {
  const Array a = Array::from(counted(6), {2, 3}, device);
  EXPECT_TRUE(a.to(device).shares_buffer_with(a));
  for (const Device target : {second, on_gpu}) {
    const Array b = a.transpose().to(target);
    EXPECT_EQ(b.device(), target);
    EXPECT_THAT(b.to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
    EXPECT_THAT(b.transpose().to(device).to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST_F(ArrayTest, MovesBetweenGpusWithoutTheHost) {
  HostBackend next("cuda:1", DeviceKind::kCuda);
  const Array a = Array::from(counted(6), {2, 3}, on_gpu);
  gpu.copies = 0;
  const Array b = a.to(Device(&next));
  EXPECT_EQ(gpu.copies + next.copies, 0);
  EXPECT_EQ(b.to_vector<float>(), counted(6));
  EXPECT_THAT(a.transpose().to(Device(&next)).to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

// Every pair of layouts, within and between a host and a GPU, against a loop over indices.
TEST_F(ArrayTest, CopiesFromAnyLayoutToAnyLayout) {
  const auto layouts = [](Device where) {
    const Array base = Array::zeros({6, 8}, int32, where);
    return std::vector<Array>{base.slice({{0, 3}, {0, 4}}), base.slice({{4, 1, -1}, {0, {}, 2}}),
                              Array::zeros({3, 4}, int32, where), Array::zeros({4, 3}, int32, where).transpose(),
                              Array::zeros({4, 3}, int32, where).slice({{{}, {}, -1}}).transpose()};
  };
  std::vector<std::int32_t> values(12);
  std::iota(values.begin(), values.end(), 100);
  for (const Device to : {device, on_gpu}) {
    for (const Device from : {device, on_gpu}) {
      if (to == on_gpu && from == on_gpu) continue;  // by a kernel: copy_kernel_test.cpp
      const std::vector<Array> targets = layouts(to), sources = layouts(from);
      for (const Array& target : targets) {
        for (const Array& source : sources) {
          source.copy_from(Array::from(values, {3, 4}, device));
          target.copy_from(Array::zeros({3, 4}, int32, device));
          target.copy_from(source);
          EXPECT_EQ(target.to_vector<std::int32_t>(), values)
              << to_string(source.strides()) << to_string(target.strides());
        }
      }
    }
  }
}

TEST_F(ArrayTest, LeavesWhatLiesBetweenTheElementsAlone) {
  for (const Device where : {device, on_gpu}) {
    const Array base = Array::ones({3, 4}, float32, where);
    base.slice({{}, {1, {}, 2}}).copy_from(Array::full({3, 2}, 7, float32, device));
    EXPECT_THAT(base.to_vector<float>(), ElementsAre(1, 7, 1, 7, 1, 7, 1, 7, 1, 7, 1, 7));
  }
}

TEST_F(ArrayTest, BroadcastsTheSourceOfACopyButNotItsDestination) {
  const Array row = Array::from(counted(3), device), square = Array::zeros({2, 3}, float32, device);
  square.copy_from(row.broadcast_to({2, 3}));
  EXPECT_THAT(square.to_vector<float>(), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(error_of<ShapeError>([&] {
                row.broadcast_to({2, 3}).copy_from(square);
              }),
              HasSubstr("axis 0 of the destination is broadcast: its 2 elements are one"));
}

TEST_F(ArrayTest, RefusesCopiesThatDoNotFit) {
  const Array array = Array::zeros({2, 3}, float32, device);
  EXPECT_THAT(error_of<ShapeError>([&] {
                array.copy_from(Array::zeros({3, 2}, float32, device));
              }),
              AllOf(HasSubstr("copy_from: shapes differ: (2, 3) from (3, 2)"), HasSubstr("broadcast_to")));
  EXPECT_THAT(error_of<TypeError>([&] {
                array.copy_from(Array::zeros({2, 3}, int32, device));
              }),
              HasSubstr("copy_from: dtypes differ: float32 (2, 3) on host from int32 (2, 3) on host"));
  EXPECT_THROW(array.copy_from(Array()), TypeError);
}

TEST_F(ArrayTest, ConvertsEveryDtypeToDoubles) {
  EXPECT_THAT(Array::from<BFloat16>({BFloat16(1.5f), BFloat16(-2.0f)}, device).to_doubles(), ElementsAre(1.5, -2));
  EXPECT_THAT(Array::from<std::uint8_t>({255, 0}, device).to_doubles(), ElementsAre(255, 0));
  EXPECT_THAT(Array::from<std::int64_t>({-5}, device).to_doubles(), ElementsAre(-5));
}

}  // namespace
}  // namespace damo
