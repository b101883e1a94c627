#include "runtime/cpu/directed_rounding.hpp"

#include <cfenv>
#include <cmath>

namespace damo::cpu_backend {
namespace {

/// Rounds in the given direction while it lives.
class RoundingMode {
 public:
  explicit RoundingMode(int rounding) : old_(std::fegetround()) {
    constexpr int kModes[] = {FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    std::fesetround(kModes[rounding]);
  }
  ~RoundingMode() { std::fesetround(old_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int old_;
};

/// Volatile: the compiler knows nothing of rounding modes and must neither fold nor move the operation.
template <class T>
T rounded(int operation, int rounding, T a, T b, T c) {
  volatile T x = a, y = b, z = c, result = 0;
  const RoundingMode mode(rounding);
  switch (operation) {
    case 0: result = x + y; break;
    case 1: result = x - y; break;
    case 2: result = x * y; break;
    case 3: result = x / y; break;
    case 4: result = std::sqrt(x); break;
    case 5: result = std::fma(x, y, z); break;
  }
  return result;
}

template <class To, class From>
To converted(int rounding, From from) {
  volatile From x = from;
  volatile To result = 0;
  const RoundingMode mode(rounding);
  result = static_cast<To>(x);
  return result;
}

}  // namespace

float rounded_float(int operation, int rounding, float a, float b, float c) { return rounded(operation, rounding, a, b, c); }
double rounded_double(int operation, int rounding, double a, double b, double c) {
  return rounded(operation, rounding, a, b, c);
}
float double_to_float(int rounding, double x) { return converted<float>(rounding, x); }
float signed_to_float(int rounding, long long x) { return converted<float>(rounding, x); }
double signed_to_double(int rounding, long long x) { return converted<double>(rounding, x); }

// A word past the signed range has no instruction of its own: halved, with the lost bit kept, it rounds the same.
float unsigned_to_float(int rounding, unsigned long long x) {
  if (x >> 63 == 0) return signed_to_float(rounding, static_cast<long long>(x));
  return 2 * signed_to_float(rounding, static_cast<long long>(x >> 1 | (x & 1)));
}
double unsigned_to_double(int rounding, unsigned long long x) {
  if (x >> 63 == 0) return signed_to_double(rounding, static_cast<long long>(x));
  return 2 * signed_to_double(rounding, static_cast<long long>(x >> 1 | (x & 1)));
}

}  // namespace damo::cpu_backend
