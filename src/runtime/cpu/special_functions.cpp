#include "runtime/cpu/special_functions.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/erf.hpp>

#include <cmath>
#include <limits>

namespace damo::cpu_backend {
namespace {

using namespace boost::math::policies;
constexpr policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
                 evaluation_error<ignore_error>, promote_double<false>>
    kQuiet{};

}  // namespace

double erfinv(double x) {
  if (x == 0) return x;  // -0 too
  if (x == 1 || x == -1) return x * std::numeric_limits<double>::infinity();
  return boost::math::erf_inv(x, kQuiet);
}
double erfcinv(double x) {
  if (x == 0 || x == 2) return (1 - x) * std::numeric_limits<double>::infinity();
  return boost::math::erfc_inv(x, kQuiet);
}
double cyl_bessel_i0(double x) { return std::isinf(x) ? x * x : boost::math::cyl_bessel_i(0, x, kQuiet); }
double cyl_bessel_i1(double x) { return std::isinf(x) ? x : boost::math::cyl_bessel_i(1, x, kQuiet); }

}  // namespace damo::cpu_backend
