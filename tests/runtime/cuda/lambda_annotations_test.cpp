#include <gtest/gtest.h>

#include "runtime/cuda/lambda_annotations.hpp"

namespace damo::cuda_backend {
namespace {

TEST(LambdaAnnotations, BecomeBlanks) {
  EXPECT_EQ(without_lambda_annotations("auto f = [=] __device__ (int i) { return i; };"),
            "auto f = [=]            (int i) { return i; };");
  EXPECT_EQ(without_lambda_annotations("[&a]\n__host__ __device__(int i) {}"), "[&a]\n                   (int i) {}");
}

TEST(LambdaAnnotations, OfFunctionsStay) {
  for (const char* text : {"[[nodiscard]] __device__ int f();", "x[3] = 1; __device__ int g();", "a[i]", "]", ""}) {
    EXPECT_EQ(without_lambda_annotations(text), text);
  }
}

}  // namespace
}  // namespace damo::cuda_backend
