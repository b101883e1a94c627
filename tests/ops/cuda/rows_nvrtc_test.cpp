// Every built-in row in every dtype that its code runs in compiles under NVRTC without a warning: all rows of a dtype
// are the steps of one kernel, printed as the CUDA dialect prints them.
#include <gtest/gtest.h>

#include <string>

#include <damo/error.hpp>

#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "support/row_source.hpp"
#include "support/sampling.hpp"

namespace damo::testing {
namespace {

/// Three inputs; an output for each row.
KernelSpec rows_spec(DType dtype) {
  KernelSpec spec;
  spec.name = "rows";
  spec.inputs = {dtype, dtype, dtype};
  for (const ElementwiseRow* row : rows_computed_in(dtype)) {
    Step step;
    step.name = row->name;
    step.code = code_for(*row, dtype);
    step.compute = dtype;
    step.result = result_of(*row, dtype);
    step.condition_first = row->condition_first;
    for (int i = 0; i < arity(*row); ++i) step.inputs.push_back(i);
    spec.outputs.push_back(step.result);
    spec.stores.push_back(spec.input_count() + static_cast<int>(spec.stores.size()));
    spec.steps.push_back(std::move(step));
  }
  return spec;
}

class RowsNvrtc : public ::testing::TestWithParam<DType> {};

TEST_P(RowsNvrtc, CompileForTheGpu) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const KernelSpec spec = rows_spec(GetParam());
  ASSERT_GT(spec.outputs.size(), 10u);
  Layout layout;  // strided: the schedule that prints each row once
  layout.rank = 2;
  layout.access.assign(static_cast<std::size_t>(spec.parameter_count()), Access::kStrided);
  const std::string text = cuda_dialect().emit(spec, cuda_dialect().adapt(spec, layout));
  const cuda_backend::NvrtcCompiler compiler(nvrtc_architecture());
  try {
    EXPECT_EQ(compiler.compile({text, SourceKind::kGenerated, "rows.cu"}).log, "");
  } catch (const CompileError& error) {
    ADD_FAILURE() << error.log();
  }
}

INSTANTIATE_TEST_SUITE_P(EachDType, RowsNvrtc, ::testing::ValuesIn(kRowDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace damo::testing
