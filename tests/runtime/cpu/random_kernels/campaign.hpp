// Many random programs: in processes of their own, as many at a time as asked for, over crashes and hangs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cpu/random_kernels/child.hpp"
#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

struct Campaign {
  std::uint64_t first = 1, count = 1000;  ///< seeds
  unsigned processes = 1;
  double seconds = 1e9;       ///< for all of them: those left over are not run
  double seconds_each = 30;   ///< of one program, in all its forms
  bool on_gpu = false;        ///< the reference against a GPU, else against the other forms
  int attempts = 400;         ///< to shrink one that fails; 0: as it is
  unsigned shrunk = 20;       ///< of those that fail, so many are shrunk
  std::string directory = {}; ///< failures are written there; "" to nowhere but the output
};

struct Failure {
  Program program;
  Verdict verdict;
  /// The kernel with its launch and what was wrong.
  std::string text() const;
};

struct Result {
  std::uint64_t programs = 0, wrong = 0, refused = 0, crashes = 0, hangs = 0;
  std::vector<Failure> failures = {};  ///< the first ones, shrunk
  std::string summary() const;
};

Result run(const Campaign& campaign);

/// Of one program.
Verdict judge(const Program& program, bool on_gpu, double seconds);

}  // namespace damo::random_kernels
