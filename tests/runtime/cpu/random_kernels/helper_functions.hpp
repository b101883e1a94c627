// The types and device functions of a random program: with loops and returns in their middle, recursive ones, a template, one that
// takes an address, one that is recursive and a warp operation. With NO_RECURSION the recursive ones are loops that give the
// same: ptxas of CUDA 13.0 dies of recursion in some programs, and in others keeps a loop's counter in a register of the whole
// warp although lanes come back from a recursive call at different times, which counts once for each of them.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

struct Helper {
  std::string name;  ///< as calls of it begin
  Node text;
};

/// At global scope.
inline std::vector<Helper> helper_types() {
  return {{"Ring_@<", fixed("template <class T, int N> struct Ring_@ {\nT x;\n__device__ unsigned turned(unsigned y) const {\nunsigned r = x;\n"
                            "for (int i = 0; i < N; ++i) r = (r << 3) ^ (r >> 5) ^ y;\nreturn r;\n}\n};\n")},
          {"sum_@(", fixed("__device__ unsigned sum_@(Given_@ given) {\nunsigned sum = given.x;\nfor (int i = 0; i < 4; ++i) sum = sum * 3u + given.words[i];\n"
                           "return sum + given.y * given.z;\n}\n")}};
}

inline std::vector<Helper> helper_functions(std::mt19937_64& random) {
  const auto number = [&] { return std::to_string(random() % 40) + "u"; };
  const auto small = [&](const char* name, const char* mark) {
    const std::string bodies[] = {"return x * " + number() + " + (y ^ " + number() + ");",
                                  "for (unsigned i = 0; i < (y & 7u); ++i) {\nif (x & 1u) return x + i;\nx = x / 2u + y;\n}\nreturn x;",
                                  "unsigned sum = 0;\nfor (unsigned i = x % 5u; i > 0; --i) sum += i * y;\nreturn sum;",
                                  "if (x < y) return y - x;\nswitch (x & 3u) {\ncase 0: return y;\ncase 1: x += 3u;\ndefault: return x;\n}",
                                  "int i = 0;\nwhile (i++ < 4) {\nif (x % 3u == 0u) continue;\nif (y & 64u) break;\nx = x * 3u + y;\n}\nreturn x;"};
    return statement(std::string("__device__ ") + mark + "unsigned " + name + "(unsigned x, unsigned y) {\n" + bodies[random() % 5] + "\n}");
  };
  return {{"h0(", small("h0", "")}, {"h1(", small("h1", random() % 2 ? "__noinline__ " : "inline ")},
          {"h2<", statement("template <int K> __device__ unsigned h2(unsigned x) {\n#pragma unroll\nfor (int i = 0; i < K; ++i) x = x * 5u + unsigned(i);\nreturn x;\n}")},
          {"r0(", statement("__device__ unsigned r0(unsigned d, unsigned x) {\n#ifdef NO_RECURSION\nunsigned sum = x;\nfor (; d != 0u; --d) sum ^= x = x * 3u + d;\nreturn sum;\n"
                    "#else\nif (d == 0u) return x;\nreturn r0(d - 1u, x * 3u + d) ^ x;\n#endif\n}")},
          {"bump(", statement("template <class T> __device__ __noinline__ void bump(T* place, unsigned x) { *place = T(unsigned(*place) * 3u + x); }")},
          {"rw(", statement("__device__ unsigned rw(unsigned d, unsigned x, unsigned mask, unsigned from) {\n#ifdef NO_RECURSION\nunsigned sum = 0u;\n"
                    "for (; d != 0u; --d) {\nx = x * 3u + __shfl_sync(mask, x, int(from));\nsum += d;\n}\nreturn sum + x;\n"
                    "#else\nif (d == 0u) return x;\nreturn rw(d - 1u, x * 3u + __shfl_sync(mask, x, int(from)), mask, from) + d;\n#endif\n}")}};
}

}  // namespace damo::random_kernels
