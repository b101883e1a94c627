// ModuleOptions: how CUDA C is compiled, in words that both compilers, NVRTC and Clang, are told in their own.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace damo {

struct ModuleOptions {
  std::vector<std::pair<std::string, std::string>> defines;  ///< {{"TILE", "16"}}: as by #define TILE 16
  std::vector<std::string> include_directories;              ///< where #include looks
  /// "c++14" to "c++20". Empty: C++17 on a GPU; on the CPU C++20, which the precompiled headers there are made for.
  std::string standard;
  /// GPU: --use_fast_math (approximate division, square root and functions, denormals to zero). CPU: division by
  /// reciprocals and sums in any order, which lets loops over sums vectorise; NaN and infinity keep their meaning.
  bool fast_math = false;
  bool line_info = true;                 ///< GPU: profilers and compute-sanitizer see source lines. CPU: a fault names its line
  int max_registers = 0;                 ///< a thread; 0: as the compiler likes. CPU: no effect
  std::vector<std::string> kernels;      ///< instances of templates: {"scale<float, 4>"}, and expressions. Others need no naming
  std::vector<std::string> flags;        ///< as they are for the compiler at hand: NVRTC's options, or those of clang -cc1
  /// CPU: finds accesses out of bounds and the use of uninitialised shared memory. GPU: compute-sanitizer does that, and
  /// one log line says so. Default: whether DAMO_CHECK is 1.
  bool check = default_check();
  std::string file_name = "kernel.cu";   ///< what the compiler's messages call the source

  static bool default_check();
};

}  // namespace damo
