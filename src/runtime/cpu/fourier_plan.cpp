#include "runtime/cpu/fourier_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace damo::cpu_backend {

namespace {

constexpr int kSteps[] = {4, 2, 3, 5, 7, 11, 13};

/// Empty where a prime factor is greater than any step.
std::vector<int> steps_of(std::int64_t n) {
  std::vector<int> steps;
  for (int step : kSteps) {
    for (; n % step == 0; n /= step) steps.push_back(step);
  }
  if (n != 1) steps.clear();
  return steps;
}

/// One step: x is (R, m, s), y (m, R, s); s counts what earlier steps have made of the extent, times the arrays. The part p of y is turned by the roots p j,
/// `turn` places of the table apart.
template <int R, class T>
void step(const SplitArrays<T>& x, const SplitArrays<T>& y, std::int64_t m, std::int64_t s, std::int64_t turn, const RootsOfUnity<T>& roots, std::int64_t n) {
  constexpr int kHalf = (R - 1) / 2;
  T cosine[R], sine[R];
  for (int j = 0; j < R; ++j) {
    cosine[j] = roots.re[static_cast<std::size_t>(j * (n / R))];
    sine[j] = roots.im[static_cast<std::size_t>(j * (n / R))];
  }
  for (std::int64_t p = 0; p < m; ++p) {
    T turn_re[R], turn_im[R];
    for (int j = 0; j < R; ++j) {
      turn_re[j] = roots.re[static_cast<std::size_t>(p * j * turn)];
      turn_im[j] = roots.im[static_cast<std::size_t>(p * j * turn)];
    }
    const T *xr = x.re + p * s, *xi = x.im + p * s;
    T *yr = y.re + p * R * s, *yi = y.im + p * R * s;
    const std::int64_t far = m * s;
    const auto put = [&](int j, std::int64_t q, T re, T im) {
      yr[j * s + q] = re * turn_re[j] - im * turn_im[j];
      yi[j * s + q] = re * turn_im[j] + im * turn_re[j];
    };
    for (std::int64_t q = 0; q < s; ++q) {
      if constexpr (R == 2) {
        const T ar = xr[q], ai = xi[q], br = xr[far + q], bi = xi[far + q];
        yr[q] = ar + br, yi[q] = ai + bi;
        put(1, q, ar - br, ai - bi);
      } else if constexpr (R == 4) {
        const T ar = xr[q] + xr[2 * far + q], ai = xi[q] + xi[2 * far + q], br = xr[q] - xr[2 * far + q], bi = xi[q] - xi[2 * far + q];
        const T cr = xr[far + q] + xr[3 * far + q], ci = xi[far + q] + xi[3 * far + q], dr = xi[far + q] - xi[3 * far + q], di = xr[3 * far + q] - xr[far + q];
        yr[q] = ar + cr, yi[q] = ai + ci;
        put(1, q, br + dr, bi + di);
        put(2, q, ar - cr, ai - ci);
        put(3, q, br - dr, bi - di);
      } else {
        // Elements k and R - k meet conjugate roots.
        T sum_r[kHalf], sum_i[kHalf], difference_r[kHalf], difference_i[kHalf];
        T total_r = xr[q], total_i = xi[q];
        for (int k = 1; k <= kHalf; ++k) {
          const T ar = xr[k * far + q], ai = xi[k * far + q], br = xr[(R - k) * far + q], bi = xi[(R - k) * far + q];
          sum_r[k - 1] = ar + br, sum_i[k - 1] = ai + bi, difference_r[k - 1] = ar - br, difference_i[k - 1] = ai - bi;
          total_r += ar + br, total_i += ai + bi;
        }
        yr[q] = total_r, yi[q] = total_i;
        for (int j = 1; j <= kHalf; ++j) {
          T even_r = xr[q], even_i = xi[q], odd_r = 0, odd_i = 0;
          for (int k = 1; k <= kHalf; ++k) {
            even_r += cosine[j * k % R] * sum_r[k - 1], even_i += cosine[j * k % R] * sum_i[k - 1];
            odd_r -= sine[j * k % R] * difference_i[k - 1], odd_i += sine[j * k % R] * difference_r[k - 1];
          }
          put(j, q, even_r + odd_r, even_i + odd_i);
          put(R - j, q, even_r - odd_r, even_i - odd_i);
        }
      }
    }
  }
}

}  // namespace

template <class T>
RootsOfUnity<T>::RootsOfUnity(std::int64_t n, std::int64_t count) : re(static_cast<std::size_t>(count)), im(re.size()) {
  for (std::int64_t k = 0; k < count; ++k) {
    // In eighths of a step, so that the angle given to sin and cos is at most an eighth of the circle.
    std::int64_t angle = 8 * (k % n);
    const bool below = angle > 4 * n;
    if (below) angle = 8 * n - angle;
    const bool left = angle > 2 * n;
    if (left) angle = 4 * n - angle;
    const bool steep = angle > n;
    if (steep) angle = 2 * n - angle;
    const long double radians = std::numbers::pi_v<long double> / 4 * static_cast<long double>(angle) / static_cast<long double>(n);
    const long double across = steep ? std::sin(radians) : std::cos(radians), up = steep ? std::cos(radians) : std::sin(radians);
    re[static_cast<std::size_t>(k)] = static_cast<T>(left ? -across : across);
    im[static_cast<std::size_t>(k)] = static_cast<T>(below ? up : -up);
  }
}

/// X_k = c_k times the sum over j of (x_j c_j) times the conjugate of c_(k - j), with c_k = exp(-pi i k^2 / n).
template <class T>
struct FourierPlan<T>::Bluestein {
  explicit Bluestein(std::int64_t n) : plan(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n - 1)))), chirp_re(static_cast<std::size_t>(n)), chirp_im(chirp_re.size()) {
    const RootsOfUnity<T> roots(2 * n, 2 * n);
    const auto size = static_cast<std::size_t>(plan.extent());
    spectrum_re.resize(size), spectrum_im.resize(size);
    std::int64_t square = 0;  // k^2 modulo 2 n
    for (std::int64_t k = 0; k < n; ++k) {
      const T re = roots.re[static_cast<std::size_t>(square)], im = roots.im[static_cast<std::size_t>(square)];
      const auto at = static_cast<std::size_t>(k), mirrored = (size - at) % size;
      chirp_re[at] = re, chirp_im[at] = im;
      spectrum_re[at] = spectrum_re[mirrored] = re, spectrum_im[at] = spectrum_im[mirrored] = -im;
      square = (square + 2 * k + 1) % (2 * n);
    }
    std::vector<T> other(2 * size);
    SplitArrays<T> x{spectrum_re.data(), spectrum_im.data()}, y{other.data(), other.data() + size};
    plan.run(x, y, 1, nullptr);
    std::vector<T> re(x.re, x.re + size), im(x.im, x.im + size);
    for (T& value : re) value /= static_cast<T>(size);
    for (T& value : im) value /= static_cast<T>(size);
    spectrum_re = std::move(re), spectrum_im = std::move(im);
  }
  FourierPlan plan;
  std::vector<T> chirp_re, chirp_im, spectrum_re, spectrum_im;
};

template <class T>
FourierPlan<T>::FourierPlan(std::int64_t n)
    : n_(n), factors_(steps_of(n)), roots_(n, factors_.empty() ? 0 : n), bluestein_(n > 1 && factors_.empty() ? std::make_shared<const Bluestein>(n) : nullptr) {}

template <class T>
std::int64_t FourierPlan<T>::scratch() const { return bluestein_ ? 4 * bluestein_->plan.extent() : 0; }

template <class T>
void FourierPlan<T>::run(SplitArrays<T>& x, SplitArrays<T>& other, std::int64_t arrays, T* scratch) const {
  if (bluestein_) return run_bluestein(x, arrays, scratch);
  std::int64_t rest = n_, done = 1;
  for (int factor : factors_) {
    rest /= factor;
    const auto go = [&]<int R>() { step<R>(x, other, rest, done * arrays, done, roots_, n_); };
    switch (factor) {
      case 2: go.template operator()<2>(); break;
      case 3: go.template operator()<3>(); break;
      case 4: go.template operator()<4>(); break;
      case 5: go.template operator()<5>(); break;
      case 7: go.template operator()<7>(); break;
      case 11: go.template operator()<11>(); break;
      default: go.template operator()<13>();
    }
    done *= factor;
    std::swap(x, other);
  }
}

template <class T>
void FourierPlan<T>::run_bluestein(const SplitArrays<T>& x, std::int64_t arrays, T* scratch) const {
  const Bluestein& b = *bluestein_;
  const std::int64_t size = b.plan.extent() * arrays;
  SplitArrays<T> y{scratch, scratch + size}, other{scratch + 2 * size, scratch + 3 * size};
  const auto multiply = [arrays](const SplitArrays<T>& from, const SplitArrays<T>& to, std::int64_t j, T re, T im) {
    for (std::int64_t i = j * arrays; i < (j + 1) * arrays; ++i) {
      const T r = from.re[i], s = from.im[i];
      to.re[i] = r * re - s * im;
      to.im[i] = r * im + s * re;
    }
  };
  for (std::int64_t j = 0; j < n_; ++j) multiply(x, y, j, b.chirp_re[static_cast<std::size_t>(j)], b.chirp_im[static_cast<std::size_t>(j)]);
  for (T* part : {y.re, y.im}) std::fill(part + n_ * arrays, part + size, T(0));
  b.plan.run(y, other, arrays, nullptr);
  for (std::int64_t j = 0; j < b.plan.extent(); ++j) multiply(y, y, j, b.spectrum_re[static_cast<std::size_t>(j)], b.spectrum_im[static_cast<std::size_t>(j)]);
  for (SplitArrays<T>* both : {&y, &other}) std::swap(both->re, both->im);
  b.plan.run(y, other, arrays, nullptr);
  std::swap(y.re, y.im);
  for (std::int64_t j = 0; j < n_; ++j) multiply(y, x, j, b.chirp_re[static_cast<std::size_t>(j)], b.chirp_im[static_cast<std::size_t>(j)]);
}

template struct RootsOfUnity<float>;
template struct RootsOfUnity<double>;
template class FourierPlan<float>;
template class FourierPlan<double>;

}  // namespace damo::cpu_backend
