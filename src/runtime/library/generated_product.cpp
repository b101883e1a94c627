#include "runtime/library/generated_product.hpp"

#include <algorithm>

#include <damo/launch_config.hpp>

#include "runtime/kernel/cache.hpp"

namespace damo {
namespace {

// A thread makes kRows elements of one column: B is read once for all of them, and along threads in the order in which it
// lies if its rows are C's. SUM is unsigned for integers, so that it may wrap.
constexpr int kRows = 8, kColumns = 128;
constexpr const char* kText = R"(
extern "C" __global__ void matrix_product(const A_TYPE* a, const A_TYPE* b, const C_TYPE* start, C_TYPE* c, long long m, long long n, long long k,
    long long batches, long long a_row, long long a_column, long long a_batch, long long b_row, long long b_column_, long long b_batch,
    long long c_row, long long c_batch, SCALE alpha, SCALE beta) {
  const long long b_column = B_COLUMN;
  const long long j = (long long)blockIdx.x * COLUMNS + threadIdx.x;
  if (j >= n) return;
  for (long long batch = blockIdx.z; batch < batches; batch += gridDim.z) {
    for (long long i = (long long)blockIdx.y * ROWS; i < m; i += (long long)gridDim.y * ROWS) {
      const int rows = m - i < ROWS ? (int)(m - i) : ROWS;
      SUM sum[ROWS] = {};
      const A_TYPE* column = b + batch * b_batch + j * b_column;
      const A_TYPE* row = a + batch * a_batch + i * a_row;
      if (rows == ROWS) {
        for (long long l = 0; l < k; ++l) {
          const SUM value = TO_SUM(column[l * b_row]);
          #pragma unroll
          for (int r = 0; r < ROWS; ++r) sum[r] += TO_SUM(row[r * a_row + l * a_column]) * value;
        }
      } else {
        for (int r = 0; r < rows; ++r) {
          SUM one = 0;
          for (long long l = 0; l < k; ++l) one += TO_SUM(row[r * a_row + l * a_column]) * TO_SUM(column[l * b_row]);
          sum[r] = one;
        }
      }
      for (int r = 0; r < rows; ++r) {
        const long long at = batch * c_batch + (i + r) * c_row + j;
        SCALE value = alpha * (SCALE)sum[r];
        if (beta != (SCALE)0) value += beta * FROM_C(start[at]);
        c[at] = TO_C(value);
      }
    }
  }
}
)";

/// C type, what turns it into a number, and what makes it of one.
struct TypeText {
  std::string type, read, make;
};

TypeText text_of(DType dtype, const std::string& number) {
  if (dtype == float16) return {"__half", "__half2float", "__float2half_rn"};
  if (dtype == bfloat16) return {"__nv_bfloat16", "__bfloat162float", "__float2bfloat16_rn"};
  static constexpr const char* kIntegers[] = {"signed char", "short", "int", "long long", "unsigned char", "unsigned short", "unsigned int", "unsigned long long"};
  std::string type = dtype == float32 ? "float" : dtype == float64 ? "double" : kIntegers[static_cast<int>(dtype) - static_cast<int>(int8)];
  return {type, "(" + number + ")", "(" + type + ")"};
}

std::string source_of(const MatrixProduct& product) {
  const DType result = product.result;
  const std::string sum = result == float64 ? "double" : is_floating(result) ? "float" : itemsize(result) == 8 ? "unsigned long long" : "unsigned int";
  const TypeText operand = text_of(product.operands, sum), element = text_of(result, sum);
  std::string text;
  if (product.operands == float16 || result == float16) text += "#include <cuda_fp16.h>\n";
  if (product.operands == bfloat16 || result == bfloat16) text += "#include <cuda_bf16.h>\n";
  const auto define = [&](const char* name, const std::string& value) { text += "#define " + std::string(name) + " " + value + "\n"; };
  define("A_TYPE", operand.type);
  define("C_TYPE", element.type);
  define("SUM", sum);
  define("SCALE", sum);
  define("TO_SUM(x)", "((SUM)" + operand.read + "(x))");
  define("FROM_C(x)", "((SCALE)" + element.read + "(x))");
  define("TO_C(x)", element.make + "(x)");
  define("ROWS", std::to_string(kRows));
  define("COLUMNS", std::to_string(kColumns));
  define("B_COLUMN", product.b.column == 1 ? "1" : "b_column_");
  return text + kText;
}

class GeneratedProduct final : public PreparedProduct {
 public:
  GeneratedProduct(Backend& backend, const MatrixProduct& product) : backend_(backend), product_(product) {
    module_ = backend.cache().get(generated_product_code(product));
    kernel_ = module_->kernel("matrix_product");
    const auto share = [](std::int64_t count, std::int64_t each) { return std::max<std::int64_t>((count + each - 1) / each, 1); };
    config_.grid = {share(product.n, kColumns), std::min<std::int64_t>(share(product.m, kRows), 65535), std::min<std::int64_t>(std::max<std::int64_t>(product.batches, 1), 65535)};
    config_.block = {kColumns, 1, 1};
    check_launch(*kernel_, config_);
  }

  void run(const MatrixAddresses& addresses, void*, void* stream) override {
    MatrixAddresses at = addresses;
    MatrixProduct p = product_;
    void* start = const_cast<void*>(p.beta == 0 ? at.result : at.start);
    std::uint64_t alpha = 0, beta = 0;  // the first bytes of each
    store(p.alpha, &alpha);
    store(p.beta, &beta);
    void* arguments[] = {&at.a, &at.b, &start, &at.result, &p.m, &p.n, &p.k, &p.batches, &p.a.row, &p.a.column, &p.a.batch,
                         &p.b.row, &p.b.column, &p.b.batch, &p.c.row, &p.c.batch, &alpha, &beta};
    backend_.launch(*kernel_, config_, arguments, stream);
    backend_.note_work(stream);
    ++backend_.launches;
  }

 private:
  void store(double value, void* to) const {
    const DType scale = product_.result == float64 ? float64 : is_floating(product_.result) ? float32 : itemsize(product_.result) == 8 ? int64 : int32;
    Scalar(value).cast(scale).store(to);
  }

  Backend& backend_;
  MatrixProduct product_;
  std::shared_ptr<const LoadedModule> module_;
  std::shared_ptr<const LoadedKernel> kernel_;
  LaunchConfig config_;
};

}  // namespace

CompileRequest generated_product_code(const MatrixProduct& product) {
  CompileRequest request;
  request.source = source_of(product);
  request.kind = SourceKind::kCudaC;
  request.file_name = "matrix_product.cu";
  request.kernels = {"matrix_product"};
  return request;
}

std::shared_ptr<PreparedProduct> generated_product(Backend& backend, const MatrixProduct& product) {
  return std::make_shared<GeneratedProduct>(backend, product);
}

}  // namespace damo
