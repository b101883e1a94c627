#include "runtime/array/copy_kernel.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

class CopyKernelOnEachDevice : public testing::OnEachDevice {
 protected:
  /// Elements whose bytes differ from place to place, in C order.
  Array bytes_in_order(const Shape& shape, DType dtype) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape.size()) * itemsize(dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 + i / 251);
    return Array::from_bytes(bytes.data(), static_cast<std::size_t>(shape.size()), dtype, shape, device());
  }
  static std::vector<std::byte> bytes_of(const Array& array) {
    std::vector<std::byte> bytes(array.nbytes());
    array.to_host(bytes.data());
    return bytes;
  }
  /// Copies from into a new array and into every other column of a larger one, which has room for it.
  void expect_copies(const Array& from) {
    const Array packed = Array::empty(from.shape(), from.dtype(), device());
    copy_by_kernel(packed, from);
    EXPECT_EQ(bytes_of(packed), bytes_of(from)) << describe(from);

    Shape wide = from.shape();
    wide[from.rank() - 1] = from.shape()[from.rank() - 1] * 2;
    const Array room = Array::zeros(wide, from.dtype(), device());
    std::vector<Slice> slices(static_cast<std::size_t>(from.rank()));
    slices.back() = Slice{1, {}, 2};
    const Array odd = room.slice(slices);
    copy_by_kernel(odd, from);
    EXPECT_EQ(bytes_of(odd), bytes_of(from)) << describe(from);
    slices.back() = Slice{0, {}, 2};
    for (std::byte byte : bytes_of(room.slice(slices))) ASSERT_EQ(byte, std::byte{0}) << describe(from);
  }
};

TEST_P(CopyKernelOnEachDevice, CopiesEveryItemSize) {
  for (const DType dtype : {uint8, float16, bfloat16, int32, float32, int64, float64}) {
    expect_copies(bytes_in_order({37, 21}, dtype).transpose());
  }
}

TEST_P(CopyKernelOnEachDevice, TakesViewsOfEveryKind) {
  const Array x = bytes_in_order({12, 10, 14}, float32);
  expect_copies(x);
  expect_copies(x.transpose());
  expect_copies(x.permute(std::vector{1, 0, 2}));
  expect_copies(x.slice({{2, 11, 3}, {}, {13, {}, -2}}));
  expect_copies(bytes_in_order({1, 14}, float32).broadcast_to({9, 14}));
  expect_copies(bytes_in_order({300, 1}, int64).broadcast_to({300, 70}));
}

TEST_P(CopyKernelOnEachDevice, CopiesFromAnyLayoutToAnyLayout) {
  const auto layouts = [this] {
    const Array base = Array::zeros({6, 8}, int32, device());
    return std::vector<Array>{base.slice({{0, 3}, {0, 4}}), base.slice({{4, 1, -1}, {0, {}, 2}}),
                              Array::zeros({3, 4}, int32, device()), Array::zeros({4, 3}, int32, device()).transpose(),
                              Array::zeros({4, 3}, int32, device()).slice({{{}, {}, -1}}).transpose()};
  };
  const std::vector<std::int32_t> values = {100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111};
  const std::vector<Array> targets = layouts(), sources = layouts();
  for (const Array& target : targets) {
    for (const Array& source : sources) {
      source.copy_from(Array::from(values, {3, 4}, device()));
      target.copy_from(Array::zeros({3, 4}, int32, device()));
      target.copy_from(source);
      EXPECT_EQ(target.to_vector<std::int32_t>(), values) << to_string(source.strides()) << to_string(target.strides());
    }
  }
}

TEST_P(CopyKernelOnEachDevice, CopiesWithinAnArrayAsIfThroughASecondOne) {
  const Array forward = range({6}), backward = range({6}), square = range({3, 3});
  forward.slice({{1, {}}}).copy_from(forward.slice({{0, -1}}));
  EXPECT_EQ(forward.to_vector<float>(), (std::vector<float>{0, 0, 1, 2, 3, 4}));
  backward.copy_from(backward.slice({{{}, {}, -1}}));
  EXPECT_EQ(backward.to_vector<float>(), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  square.copy_from(square.transpose());
  EXPECT_EQ(square.to_vector<float>(), (std::vector<float>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
}

/// More than what passes through the host at once.
TEST_P(CopyKernelOnEachDevice, ServesLargeArrays) {
  const Array x = bytes_in_order({700, 900}, float32);
  const std::vector<float> in = x.to_vector<float>();
  const std::vector<std::byte> turned = bytes_of(x.transpose()), packed = bytes_of(x.transpose().copy());
  ASSERT_EQ(turned, packed);
  for (std::size_t row = 0; row < 700; row += 13) {
    for (std::size_t column = 0; column < 900; ++column) {
      ASSERT_EQ(
          0, std::memcmp(&in[row * 900 + column], turned.data() + (column * 700 + row) * sizeof(float), sizeof(float)));
    }
  }
  const Array y = Array::zeros({900, 1400}, float32, device()), half = y.slice({{}, {0, {}, 2}});
  half.copy_from(Array::from_bytes(turned.data(), 700 * 900, float32, {900, 700}, Device("null")));
  EXPECT_EQ(bytes_of(half), turned);
  EXPECT_EQ(bytes_of(y.slice({{}, {1, {}, 2}})), std::vector<std::byte>(turned.size()));
}

TEST_P(CopyKernelOnEachDevice, NeverSendsAColumnsNeighboursToTheHost) {
  const Array x = bytes_in_order({2048, 512}, float32), column = x.slice({{}, {7, 8}});
  const std::uint64_t before = device().backend().launches;
  const std::vector<std::byte> found = bytes_of(column);
  EXPECT_EQ(device().backend().launches - before, device().is_host() ? 0u : 1u);
  const std::vector<std::byte> all = bytes_of(x);
  for (std::size_t row = 0; row < 2048; ++row) {
    ASSERT_EQ(0, std::memcmp(found.data() + row * 4, all.data() + (row * 512 + 7) * 4, 4)) << row;
  }
}

DAMO_ON_EACH_DEVICE(CopyKernelOnEachDevice);

}  // namespace
}  // namespace damo
