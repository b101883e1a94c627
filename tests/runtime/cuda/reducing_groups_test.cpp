// Joins that take what a thread reads at a time as a group: where texts have them, and that each element of a row is in one of them, or appended alone.
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/text_as_cuda_c.hpp"
#include "runtime/kernel/joined_rows.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The sum of x y.
KernelSpec products() {
  Step step = join("0", "a + b", 0);
  step.inputs = {0, 1};
  step.code = "x0 * x1";
  step.join->append_group =
      "#pragma unroll\n  for (int k = 0; k < K; ++k) {\n    T sum = 0;\n#pragma unroll\n    for (int n = 0; n < N; ++n) sum += x0[k][n] * x1[k][n];\n    a[k] += sum;\n  }";
  return spec_of("products", {step}, {2}, 2);
}
KernelSpec products_alone() {
  KernelSpec spec = products();
  spec.steps[0].join->append_group.clear();
  return spec;
}

struct Text {
  Layout layout;
  std::string text;
};
Text text_of(const KernelSpec& spec, const Shape& shape, std::uint32_t mask) {
  const Strides lies = contiguous_strides(shape);
  Shape row = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) row[axis] = mask >> axis & 1u ? 1 : shape[axis];
  const Strides row_lies = contiguous_strides(row);
  std::vector<ArrayLayout> arrays(spec.inputs.size(), ArrayLayout{&shape, &lies});
  arrays.push_back({&row, &row_lies});
  Layout layout = cuda_layout(spec, Geometry(shape, arrays, mask), {132, 8, 227 * 1024});
  layout.aligned = true;
  return {layout, cuda_dialect().emit(spec, layout)};
}

TEST(CudaReducingGroups, AreAllThatColumnsOfWholeTilesJoin) {
  const auto [layout, text] = text_of(products(), {16384, 8192}, 1);
  ASSERT_EQ(layout.ends, Ends::kTiles);
  EXPECT_THAT(text, AllOf(HasSubstr("append_group2<4, " + number(layout.items) + ">(m2, g2_0, g2_1);"), Not(HasSubstr("= append2("))));
}

TEST(CudaReducingGroups, StandBesideElementsWhereTilesMayBeginOrEndWithinRows) {
  for (const auto& [shape, mask] : {std::pair<Shape, std::uint32_t>{{5003, 4096}, 1u}, {{64, 100000}, 2u}}) {
    const auto [layout, text] = text_of(products(), shape, mask);
    ASSERT_EQ(layout.ends, Ends::kVectors);
    EXPECT_THAT(text, AllOf(HasSubstr("append_group2<4, "), HasSubstr("= append2(")));
  }
  const auto [layout, text] = text_of(products(), {64, 100003}, 2);
  ASSERT_EQ(layout.ends, Ends::kAnywhere);
  EXPECT_THAT(text, AllOf(HasSubstr("append_group2<1, "), HasSubstr("= append2("))) << "the places of a vector may have joined more or fewer";
}

TEST(CudaReducingGroups, AreNotOfJoinsWithoutThemNorOfRowsThatAreHeld) {
  EXPECT_THAT(text_of(products_alone(), {16384, 8192}, 1).text, Not(HasSubstr("append_group")));
  KernelSpec held = products();  // a second pass, of elements less the sum
  held.steps.push_back(map("x0 - x1", {0, 2}));
  held.steps.push_back(sum_of(3));
  held.stores = {4};
  const auto [layout, text] = text_of(held, {16384, 2048}, 2);
  ASSERT_TRUE(layout.whole);
  EXPECT_THAT(text, Not(HasSubstr("append_group2<4")));
}

TEST(CudaReducingGroups, LeaveAsManyBlocksResidentAsHaveEnoughOnTheirWay) {
  EXPECT_EQ(text_of(products_alone(), {16384, 8192}, 1).layout.residents, 0);
  const Layout layout = text_of(products(), {16384, 8192}, 1).layout;
  EXPECT_GE(layout.residents * reducing_block(layout) * layout.items * layout.vector * 8, 48 * 1024);
}

class CudaGroupsOfRows : public JoinedRows {
 protected:
  /// Of whole numbers, whose sums are exact. y begins so many elements behind where vectors do.
  Values found(const KernelSpec& spec, const Array& x, const Array& y, std::size_t behind, bool columns) const {
    Shape kept = x.shape();
    kept[columns ? 0 : 1] = 1;
    const Array sums = Array::empty(kept, float32, device());
    SpecKernel kernel(spec, device().backend());
    BoundKernel bound(kernel);
    bound.bind(x.shape(), std::vector<ArrayLayout>{{&x.shape(), &x.strides()}, {&x.shape(), &x.strides()}, {&sums.shape(), &sums.strides()}}, false, columns ? 1u : 2u);
    bound.set_pointer(0, x.data());
    bound.set_pointer(1, static_cast<const float*>(y.data()) + behind);
    bound.set_pointer(2, sums.data());
    bound.launch(nullptr);
    return sums.to_doubles();
  }
};

TEST_P(CudaGroupsOfRows, HaveEachElementOnce) {
  const auto x_of = [](std::int64_t row, std::int64_t at, std::int64_t) { return static_cast<double>((row * 7 + at * 5) % 11 - 5); };
  for (const auto& [count, length, columns] : spaces()) {
    const Array x = rows(x_of, count, length, columns);
    for (std::size_t behind : {0, 1}) {
      std::vector<float> ys(static_cast<std::size_t>(count * length) + behind);
      for (std::size_t i = behind; i < ys.size(); ++i) ys[i] = static_cast<float>((i - behind) * 3 % 7) - 3;
      const Array y = Array::from(ys, {static_cast<std::int64_t>(ys.size())}, device());
      const Values sums = found(products(), x, y, behind, columns), xs = x.to_doubles();
      for (std::int64_t row = 0; row < count; ++row) {
        double sum = 0;
        for (std::int64_t at = 0; at < length; ++at) {
          const auto place = static_cast<std::size_t>(columns ? at * count + row : row * length + at);
          sum += xs[place] * ys[place + behind];
        }
        ASSERT_EQ(sums[static_cast<std::size_t>(row)], sum) << count << " of " << length << (columns ? " columns" : " rows") << ", y " << behind << " behind, row " << row;
      }
    }
  }
}

DAMO_ON_EACH_DEVICE(CudaGroupsOfRows);

}  // namespace
}  // namespace damo
