// CUDA C as nvcc takes it: what the language and the compiler's own names give a kernel, on each device.
#include <damo/cuda_c.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using damo::testing::error_of;

class CudaCLanguageOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// What kernel k writes to the first count of its values, run by one thread.
  std::vector<float> values_of(const std::string& source, std::size_t count, const std::string& kernel = "k") const {
    const Array y = array(std::vector<float>(count, -1));
    Module(device(), source).kernel(kernel)({}, y);
    return y.to_vector<float>();
  }
};

TEST_P(CudaCLanguageOnEachDevice, TakesAlignasBehindTheMemorySpace) {
  EXPECT_THAT(values_of(R"(__constant__ alignas(16) float c[4] = {1, 2, 3, 4};
    __device__ alignas(sizeof(double) > 4 ? 32 : 8) float d = 5;
    __global__ void k(float* y) {
      __shared__ char before;
      __shared__ alignas(64) float a[64];
      __shared__ alignas(double) char b[4];
      before = 1, a[3] = 6, b[1] = 7;
      y[0] = c[3] + before, y[1] = d, y[2] = a[3], y[3] = b[1];
      y[4] = reinterpret_cast<size_t>(a) % 64 + reinterpret_cast<size_t>(&d) % 32 + reinterpret_cast<size_t>(b) % 8;
    })", 5), ElementsAre(5, 5, 6, 7, 0));
}

TEST_P(CudaCLanguageOnEachDevice, PassesOverTheWordRegister) {
  EXPECT_THAT(values_of("__global__ void k(float* y) { register float s = 0; for (register int i = 0; i < 4; ++i) s += i; y[0] = s; }", 1), ElementsAre(6));
}

TEST_P(CudaCLanguageOnEachDevice, TakesPitchedMemoryByValue) {
  const Module module(device(), R"(__global__ void k(cudaPitchedPtr to, cudaExtent extent, cudaPos at) {
      float* const row = reinterpret_cast<float*>(static_cast<char*>(to.ptr) + at.y * to.pitch);
      row[at.x] = extent.width * extent.height + at.z;
    })");
  const Array y = array({0, 0, 0, 0});
  struct Pitched {
    const void* at;
    std::size_t pitch, x, y;
  };
  using Three = std::array<std::size_t, 3>;
  module.kernel("k")({}, Pitched{y.data(), 8, 8, 2}, Three{3, 2, 1}, Three{1, 1, 4});
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(0, 0, 0, 10));
}

TEST_P(CudaCLanguageOnEachDevice, HasTheIntegerTypesOfLinux) {
  EXPECT_THAT(values_of(R"(__device__ void set(unsigned long* p, long* q) { *p = 3; *q = -4; }
    __global__ void k(float* y) {
      __shared__ uint64_t a;
      __shared__ int64_t b;
      __shared__ ssize_t c;
      set(&a, &b), c = 1;
      long* p = &c;
      atomicAdd(&a, 2), atomicMin(&b, *p - 9), atomicCAS(&a, 5, 6);
      y[0] = a, y[1] = b, y[2] = sizeof(uintptr_t) + sizeof(intmax_t);
    })", 3), ElementsAre(6, -8, 16));
}

TEST_P(CudaCLanguageOnEachDevice, LetsASourceDefineTypesThatThePreludeHas) {
  EXPECT_THAT(values_of(R"(typedef long long ssize_t;
    typedef unsigned long long uint64_t;
    using int64_t = long long;
    typedef unsigned int uint;
    __global__ void k(float* y) {
      long long a = -3;
      unsigned long long b = 4;
      ssize_t* p = &a;
      int64_t* q = &a;
      uint64_t* r = &b;
      y[0] = *p + *q, y[1] = *r + uint(1);
    })", 2), ElementsAre(-6, 5));
}

TEST_P(CudaCLanguageOnEachDevice, MakesAndDeletesObjects) {
  EXPECT_THAT(values_of(R"(#include <new>
    struct Shape { virtual ~Shape() {} virtual float area() const = 0; };
    struct Square : Shape { float a; float* left; Square(float a, float* left) : a(a), left(left) {} ~Square() { *left += 1; } float area() const override { return a * a; } };
    struct alignas(64) Wide { float values[16]; Wide() { values[15] = 9; } };
    __global__ void k(float* y) {
      y[1] = 0;
      Shape* shape = new Square(3, &y[1]);
      y[0] = shape->area();
      delete shape;
      int* many = new int[100];
      many[99] = 5, y[2] = many[99];
      delete[] many;
      alignas(Square) char place[sizeof(Square)];
      Square* square = new (place) Square(2, &y[1]);
      y[3] = square->area();
      square->~Square();
      Wide* wide = new (std::nothrow) Wide;
      y[4] = wide ? wide->values[15] + reinterpret_cast<size_t>(wide) % 16 : -1;
      delete wide;
      delete static_cast<int*>(nullptr);
    })", 5), ElementsAre(9, 2, 5, 4, 9));
}

TEST_P(CudaCLanguageOnEachDevice, GivesNullWhereTheHeapHasNoRoom) {
  EXPECT_THAT(values_of(R"(#include <new>
    struct S { int a; S() : a(1) {} };
    __device__ S* kept;
    __global__ void k(float* y) {
      volatile size_t many = 1ull << 59;
      kept = new (std::nothrow) S[many];
      y[0] = kept == nullptr;
    })", 1), ElementsAre(1));
}

TEST_P(CudaCLanguageOnEachDevice, FindsVariablesThatOnlyTheTextCanName) {
  const Module module(device(), R"(static __constant__ float factor;
    namespace { __device__ int count; }
    template <class T> __constant__ T mask[2];
    template <class T> __global__ void k(T* y) { y[0] = factor, y[1] = count++, y[2] = mask<T>[1]; }
    template __global__ void k<float>(float*);)");
  module.global("factor").set(2.5f);
  module.global("count").set(4);
  module.global("mask<float>").set(std::vector<float>{1, 7});
  const Array y = array({0, 0, 0});
  module.kernel("k<float>")({}, y);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2.5f, 4, 7));
  EXPECT_EQ(module.global("count").get<int>(), 5);
}

TEST_P(CudaCLanguageOnEachDevice, HasTheCompilersOwnAtomicOperations) {
  const char* source = R"(__global__ void k(float* y) {
      __shared__ unsigned u;
      __shared__ float f;
      __shared__ int v;
      __nv_atomic_store_n(&u, 5u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
      f = 1.5f;
      v = 8;
      y[0] = __nv_atomic_load_n(&u, __NV_ATOMIC_ACQUIRE) + __nv_atomic_load_n(&v, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
      y[1] = __nv_atomic_fetch_add(&u, 2u, __NV_ATOMIC_RELAXED) + __nv_atomic_fetch_add(&f, 0.25f, __NV_ATOMIC_RELAXED);
      __nv_atomic_max(&u, 9u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
      unsigned expected = 3;
      y[2] = __nv_atomic_compare_exchange_n(&u, &expected, 1u, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
      y[3] = expected;
      y[4] = __nv_atomic_compare_exchange_n(&u, &expected, 6u, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
      __nv_atomic_or(&u, 8u, __NV_ATOMIC_RELAXED);
      y[5] = __nv_atomic_exchange_n(&u, 11u, __NV_ATOMIC_RELAXED) + f;
      unsigned value = 12, old;
      __nv_atomic_exchange(&u, &value, &old, __NV_ATOMIC_RELAXED);
      __nv_atomic_load(&u, &value, __NV_ATOMIC_RELAXED);
      __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
      y[6] = old, y[7] = value;
    })";
  EXPECT_THAT(values_of(source, 8), ElementsAre(13, 6.5f, 0, 9, 1, 15.75f, 11, 12));
}

TEST_P(CudaCLanguageOnEachDevice, FindsInstancesThatTheTextAsksFor) {
  const Module module(device(), R"(template <class T> __device__ T twice(T x) { return x + x; }
    template __device__ float twice<float>(float);
    template <class T> T thrice(T x) { return x + x + x; }
    template float thrice<float>(float);
    template <class T, int n> __global__ void k(T* y) { y[0] = twice(thrice(T(n))); }
    template __global__ void k<float, 3>(float*);
    template __global__ void k<double, 4>(double* y);
    template <class T> __global__ void one(T* y) { y[0] = 1; }
    template <> __global__ void one<float>(float* y) { y[0] = 2; }
    template __global__ void one<int>(int*);
    namespace space {
    struct A { float x; };
    template <class T> __global__ void g(T* y) { y->x = 5; }
    template __global__ void g<A>(A*);
    })");
  const Array y = array({0});
  module.kernel("k<float, 3>")({}, y);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(18));
  module.kernel("one<float>")({}, y);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2));
  module.kernel("space::g<space::A>")({}, y.data());
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(5));
  const Array z = Array::from(std::vector<double>{0}, device());
  module.kernel("k<double,4>")({}, z);
  EXPECT_THAT(z.to_vector<double>(), ElementsAre(24));
}

TEST_P(CudaCLanguageOnEachDevice, HasTilesOfSeveralWarps) {
  const Module module(device(), R"(#include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void k(float* y) {
      __shared__ cg::block_tile_memory<256> memory;
      const cg::thread_block block = cg::this_thread_block(memory);
      const auto tile = cg::tiled_partition<64>(block);
      const float rank = block.thread_rank();
      const float sum = cg::reduce(tile, rank, cg::plus<float>());
      y[block.thread_rank()] = sum + tile.shfl(rank, 63) + 1000 * tile.any(rank == 70) + 2000 * tile.all(rank < 64) + tile.num_threads() + tile.meta_group_rank();
    })");
  const Array y = array(std::vector<float>(256));
  module.kernel("k")({.block = {256}}, y);
  std::vector<float> expected(256);
  for (int i = 0; i < 256; ++i) {
    const int tile = i / 64, first = tile * 64;
    expected[static_cast<std::size_t>(i)] = float(64 * first + 63 * 32 + first + 63 + (tile == 1 ? 1000 : 0) + (tile == 0 ? 2000 : 0) + 64 + tile);
  }
  EXPECT_EQ(y.to_vector<float>(), expected);
}

TEST_P(CudaCLanguageOnEachDevice, ReducesOverLabeledPartitions) {
  const Module module(device(), R"(#include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void k(int* sums, int* least, const int* labels) {
      const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
      const int i = threadIdx.x;
      const auto group = cg::labeled_partition(warp, labels[i]);
      sums[i] = cg::reduce(group, i, cg::plus<int>());
      least[i] = cg::reduce(group, 100 - i, cg::less<int>());
    })");
  std::vector<int> labels, sums(64), least(64);
  for (int i = 0; i < 64; ++i) labels.push_back(i < 32 ? i * i % 7 : i % 3 == 0);
  for (int i = 0; i < 64; ++i) {
    least[static_cast<std::size_t>(i)] = 1000;
    for (int j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
      if (labels[static_cast<std::size_t>(j)] != labels[static_cast<std::size_t>(i)]) continue;
      sums[static_cast<std::size_t>(i)] += j;
      least[static_cast<std::size_t>(i)] = std::min(least[static_cast<std::size_t>(i)], 100 - j);
    }
  }
  std::vector<int> got_sums(64), got_least(64);
  module.kernel("k")({.block = {64}}, Out(got_sums), Out(got_least), In(labels));
  EXPECT_EQ(got_sums, sums);
  EXPECT_EQ(got_least, least);
}

TEST_P(CudaCLanguageOnEachDevice, NamesTheLineOfACallWithoutADefinition) {
  const std::string text = error_of([&] { Module(device(), "__device__ float f(float);\n__global__ void k(float* y) {\n\n  y[0] = f(1);\n}\n"); });
  EXPECT_THAT(text, HasSubstr("error: function 'f(float)' is called but has no definition"));
  EXPECT_THAT(text, HasSubstr(device().is_host() ? "kernel.cu:4:10: error" : "it is named in line 1 4"));
}

DAMO_ON_EACH_DEVICE(CudaCLanguageOnEachDevice);

}  // namespace
}  // namespace damo
