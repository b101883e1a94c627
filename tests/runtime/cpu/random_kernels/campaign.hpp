// Many random programs: in processes of their own, as many at a time as asked for, over crashes and hangs.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cpu/random_kernels/child.hpp"
#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

/// Seeds whose programs stand in one text: those with the same quotient by this.
constexpr std::uint64_t kTogether = 16;

struct Campaign {
  std::uint64_t first = 1, count = 1000;  ///< seeds
  unsigned jobs = 1;          ///< processes
  double seconds = 1e9;       ///< for all of them: no text is begun after that
  double seconds_each = 30;   ///< of one program, in all its forms; four times as much for a text of several
  bool on_gpu = false;        ///< the reference against a GPU, else against the other forms
  int attempts = 400;         ///< to shrink one that fails; 0: as it is
  unsigned shrunk = 20;       ///< of those that fail, so many are shrunk
  double tell_every = 0;      ///< seconds between lines of progress on stderr; 0: none
  std::function<void(std::span<const Program>)> before = {};  ///< is called with the programs of each text, in their process: for tests
  std::string directory = {}; ///< failures are written there; "" to nowhere but the output
};

struct Failure {
  std::vector<Program> programs;  ///< one, or all of the text if none fails alone
  std::uint64_t seed = 0;
  Verdict verdict;
  /// The kernels with their launches and what was wrong.
  std::string text() const;
};

struct Result {
  std::uint64_t programs = 0, forms = 0, wrong = 0, refused = 0, crashes = 0, hangs = 0;
  double seconds = 0, cpu_seconds = 0;   ///< without shrinking
  std::vector<Failure> failures = {};  ///< the first ones, shrunk
  bool is_good() const { return wrong + refused + crashes + hangs == 0; }
  std::string summary() const;
};

Result run(const Campaign& campaign);

/// Of one program.
Verdict judge(const Program& program, bool on_gpu, double seconds);

}  // namespace damo::random_kernels
