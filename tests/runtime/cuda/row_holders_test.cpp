// Which blocks hold a row, by the registers that their threads have for it.
#include "runtime/cuda/row_holders.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

TEST(RowHolders, TakeAsManyRegistersAsThreadsHave) {
  using Form = std::array<int, 4>;  // lanes, vectors of a thread, residents, cluster
  const auto form = [](const KernelSpec& spec, DType dtype, std::int64_t length, std::int64_t count = 2000) {
    KernelSpec typed = spec;
    for (DType& each : typed.inputs) each = dtype;
    for (DType& each : typed.outputs) each = dtype;
    const Shape shape = {count, length};
    const Strides dense = contiguous_strides(shape);
    const std::vector<ArrayLayout> arrays(static_cast<std::size_t>(typed.parameter_count()), {&shape, &dense});
    const Layout found = cuda_layout(typed, Geometry(shape, arrays, 2), {132, 8, 227 * 1024});
    EXPECT_TRUE(found.whole) << length;
    return Form{found.lanes, found.items, found.residents, found.cluster};
  };
  const KernelSpec soft = softmax_in_steps();
  EXPECT_EQ(form(soft, float32, 16384), (Form{512, 8, 2, 1}));
  EXPECT_EQ(form(soft, float32, 20480), (Form{512, 10, 2, 1})) << "40 registers of 64";
  EXPECT_EQ(form(soft, float32, 24576), (Form{256, 24, 2, 1})) << "96 of 128";
  EXPECT_EQ(form(soft, float32, 49152), (Form{512, 24, 1, 1})) << "likewise, alone";
  EXPECT_EQ(form(soft, float32, 20480, 131)[3], 4) << "rows for some multiprocessors alone";
  EXPECT_EQ(form(soft, bfloat16, 12288), (Form{256, 6, 3, 1})) << "48 of 80";
  EXPECT_EQ(form(soft, bfloat16, 16384), (Form{512, 4, 2, 1}));
  EXPECT_EQ(form(soft, bfloat16, 22528), (Form{256, 11, 2, 1}));
  const KernelSpec of_three = spec_of("of_three", {map("x0 * x1 * x2", {0, 1, 2}), sum_of(3), map("x0 + x1 * x2 - x3", {0, 1, 2, 4})}, {5}, 3);
  EXPECT_EQ(form(of_three, float32, 1024), (Form{64, 4, 12, 1})) << "48 of 80";
  EXPECT_EQ(form(of_three, float32, 2048), (Form{64, 8, 8, 1})) << "96 of 128";
}

}  // namespace
}  // namespace damo
