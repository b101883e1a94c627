// Random numbers as pure functions of a key, the number of a draw and the number of an element: Philox4x32-10 (Salmon et al. 2011,
// "Parallel random numbers: as easy as 1, 2, 3") and what distributions need behind it. Text of generated kernels on every back end,
// after its math header, convert.h and elementwise.h; it includes nothing.
//
// Every result has the same bits on every device. So nothing here calls a back end's functions: logarithm, exponential, sine and cosine
// are series whose coefficients are exact rationals, in sums, products, quotients and roots that are rounded once each (math::exact_*), never
// contracted. Branch-free but for the distributions that reject, so that loops vectorise; what ?: chooses from is computed before it, as NVRTC
// makes branches of arms that call. Where neighbours share a block of Philox a compiler computes it once, if it sees that they are
// neighbours, and NVRTC only if no branch lies between them (tests/runtime/cuda/random_text_test.cpp counts). Errors: tests/function/distributions_test.cpp.
#pragma once

namespace damo {
namespace math {

#if defined(DAMO_EXACT)
template <class T>
DAMO_MATH T exact_add(T a, T b) {
  DAMO_EXACT
  return a + b;
}
template <class T>
DAMO_MATH T exact_sub(T a, T b) {
  DAMO_EXACT
  return a - b;
}
template <class T>
DAMO_MATH T exact_mul(T a, T b) {
  DAMO_EXACT
  return a * b;
}
template <class T>
DAMO_MATH T exact_div(T a, T b) {
  DAMO_EXACT
  return a / b;
}
DAMO_MATH float exact_sqrt(float x) { return __builtin_sqrtf(x); }
DAMO_MATH double exact_sqrt(double x) { return __builtin_sqrt(x); }
#else
DAMO_MATH float exact_add(float a, float b) { return __fadd_rn(a, b); }
DAMO_MATH float exact_sub(float a, float b) { return __fsub_rn(a, b); }
DAMO_MATH float exact_mul(float a, float b) { return __fmul_rn(a, b); }
DAMO_MATH float exact_div(float a, float b) { return __fdiv_rn(a, b); }
DAMO_MATH float exact_sqrt(float x) { return __fsqrt_rn(x); }
DAMO_MATH double exact_add(double a, double b) { return __dadd_rn(a, b); }
DAMO_MATH double exact_sub(double a, double b) { return __dsub_rn(a, b); }
DAMO_MATH double exact_mul(double a, double b) { return __dmul_rn(a, b); }
DAMO_MATH double exact_div(double a, double b) { return __ddiv_rn(a, b); }
DAMO_MATH double exact_sqrt(double x) { return __dsqrt_rn(x); }
#endif

// c0 + c1 x + ..., each step rounded twice.
template <class T>
DAMO_MATH T series(T, T c0) {
  return c0;
}
template <class T, class... Rest>
DAMO_MATH T series(T x, T c0, Rest... rest) {
  return exact_add(exact_mul(series(x, rest...), x), c0);
}

// log(1 + f) for 1 + f from sqrt(1/2) to sqrt(2): 2 artanh(f / (2 + f)).
DAMO_MATH float log_near_one(float f) {
  const float half = exact_div(f, exact_add(2.0f, f)), t = exact_add(half, half), z = exact_mul(half, half);
  return exact_add(t, exact_mul(exact_mul(t, z), series(z, 1.0f / 3, 1.0f / 5, 1.0f / 7, 1.0f / 9)));
}
DAMO_MATH double log_near_one(double f) {
  const double half = exact_div(f, exact_add(2.0, f)), t = exact_add(half, half), z = exact_mul(half, half);
  return exact_add(t, exact_mul(exact_mul(t, z), series(z, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19)));
}
// exponent * log(2) + near, log(2) in two parts of which the first has few digits.
DAMO_MATH float with_exponent(float exponent, float near) {
  return exact_add(exact_mul(exponent, 0.693359375f), exact_add(exact_mul(exponent, -2.12194440e-4f), near));
}
DAMO_MATH double with_exponent(double exponent, double near) {
  return exact_add(exact_mul(exponent, 6.93147180369123816490e-01), exact_add(exact_mul(exponent, 1.90821492927058770002e-10), near));
}

// x = 2^exponent (1 + fraction), the latter as log_near_one takes it.
template <class T>
struct Scaled {
  T exponent, fraction;
};
DAMO_MATH Scaled<float> scaled(float x) {
  const u32 word = bits(x) + (0x3f800000u - 0x3f3504f3u);
  return {float(i32(word >> 23) - 127), exact_sub(as_float((word & 0x7fffffu) + 0x3f3504f3u), 1.0f)};
}
DAMO_MATH Scaled<double> scaled(double x) {
  const u64 word = bits(x) + (0x3ff0000000000000ull - 0x3fe6a09e00000000ull);
  return {double(i32(word >> 52) - 1023), exact_sub(as_double((word & 0xfffffffffffffull) + 0x3fe6a09e00000000ull), 1.0)};
}

// Of a positive x that is neither denormal nor infinite.
template <class T>
DAMO_MATH T exact_log(T x) {
  const Scaled<T> parts = scaled(x);
  return with_exponent(parts.exponent, log_near_one(parts.fraction));
}

// e^x for x <= 0; 0 beyond the normal numbers.
DAMO_MATH float exact_exp(float x) {
  const float within = x > -87.0f ? x : -87.0f, n = float(i32(exact_sub(exact_mul(within, 1.44269504f), 0.5f)));
  const float r = exact_sub(exact_sub(within, exact_mul(n, 0.693359375f)), exact_mul(n, -2.12194440e-4f));
  const float near = series(r, 1.0f, 1.0f, 1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040, 1.0f / 40320);
  const float value = exact_mul(near, as_float(u32(i32(n) + 127) << 23));
  return x > -87.0f ? value : 0.0f;
}
DAMO_MATH double exact_exp(double x) {
  const double within = x > -708.0 ? x : -708.0, n = double(i32(exact_sub(exact_mul(within, 1.4426950408889634), 0.5)));
  const double r = exact_sub(exact_sub(within, exact_mul(n, 6.93147180369123816490e-01)), exact_mul(n, 1.90821492927058770002e-10));
  const double near = series(r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800,
                             1.0 / 479001600, 1.0 / 6227020800.0);
  const double value = exact_mul(near, as_double(u64(i32(n) + 1023) << 52));
  return x > -708.0 ? value : 0.0;
}

// The high half of a product of 128 bits.
DAMO_MATH u64 high_product(u64 a, u64 b) {
  const u64 low_a = a & 0xffffffffu, high_a = a >> 32, low_b = b & 0xffffffffu, high_b = b >> 32;
  const u64 cross = low_a * high_b + (low_a * low_b >> 32), other = high_a * low_b + (cross & 0xffffffffu);
  return high_a * high_b + (cross >> 32) + (other >> 32);
}

}  // namespace math

// A block of Philox: four words of 32 bits.
struct Philox {
  u32 a, b, c, d;
};

// The counter's 128 bits are draw, the high half, and block.
#if defined(DAMO_EXACT)
DAMO_MATH u32 xor_of(u32 a, u32 b, u32 c) { return a ^ b ^ c; }
#else
// Of xors of three NVRTC changes the order from neighbour to neighbour, and then no longer sees that neighbours share a block. It looks through no
// double, of which nothing is left in machine code; an xor in assembly it would keep too, but never merge.
DAMO_MATH u32 xor_of(u32 a, u32 b, u32 c) { return u32(__double2loint(__hiloint2double(0, int(a ^ b)))) ^ c; }
#endif
// One round, and those behind it. No loop: of neighbours that share a block a compiler merges instructions, but not loops.
template <int Rounds>
DAMO_MATH Philox philox_rounds(Philox x, u32 key_a, u32 key_b) {
  if constexpr (Rounds == 0) {
    return x;
  } else {
    const u64 first = u64(0xd2511f53u) * x.a, second = u64(0xcd9e8d57u) * x.c;
    return philox_rounds<Rounds - 1>(Philox{xor_of(u32(second >> 32), x.b, key_a), u32(second), xor_of(u32(first >> 32), x.d, key_b), u32(first)}, key_a + 0x9e3779b9u, key_b + 0xbb67ae85u);
  }
}
DAMO_MATH Philox philox(u64 key, u64 draw, u64 block) {
  return philox_rounds<10>(Philox{u32(block), u32(block >> 32), u32(draw), u32(draw >> 32)}, u32(key), u32(key >> 32));
}

// An element's bits: of four neighbours' one word each of one block; of two neighbours' two each.
DAMO_MATH u32 random_word(u64 key, u64 draw, i64 element) {
  const Philox block = philox(key, draw, u64(element) >> 2);
  const u32 low = (element & 1) ? block.b : block.a, high = (element & 1) ? block.d : block.c;
  return (element & 2) ? high : low;
}
DAMO_MATH u64 random_word64(u64 key, u64 draw, i64 element) {
  const Philox block = philox(key, draw, u64(element) >> 1);
  return (element & 1) ? (u64(block.d) << 32 | block.c) : (u64(block.b) << 32 | block.a);
}

// Multiples of 2^-Digits in [0, 1), Digits at most 24 of a float and 53 of a double.
template <class T, int Digits>
DAMO_MATH T random_uniform(u64 key, u64 draw, i64 element) {
  if constexpr (sizeof(T) == 4) return float(i32(random_word(key, draw, element) >> (32 - Digits))) * (1.0f / (1u << Digits));
  else return math::wide(random_word64(key, draw, element) >> (64 - Digits)) * (1.0 / (u64(1) << Digits));
}
template <class T>
DAMO_MATH T random_between(T unit, T low, T high) {
  const T value = math::exact_add(low, math::exact_mul(math::exact_sub(high, low), unit));
  return value < high ? value : low;  // the last digit of a sum may round up to what is not in the interval
}

// True with probability p: 32 bits of it.
template <class T>
DAMO_MATH bool random_bernoulli(u64 key, u64 draw, i64 element, T p) {
  return random_word(key, draw, element) < convert<u64>(math::exact_mul(p, T(4294967296.0)));
}

// -log of a number evenly spread between 0 and 1, of which both ends are resolved to 2^-33 of a word of 32 bits, 2^-65 of 64: what is
// near 1 is taken as its distance from there.
DAMO_MATH float exponential_of(u32 word) {
  const bool below = word < 0x80000000u;
  const float v = math::exact_mul(math::exact_add(float(i32(below ? word : ~word)), 0.5f), 1.0f / 4294967296.0f);
  const math::Scaled<float> far = math::scaled(v);
  const bool near = v < 0.29289321f;
  const float middle = math::exact_sub(1.0f, math::exact_add(v, v)), fraction = below ? (near ? -v : middle) : far.fraction;
  const float exponent = below ? (near ? 0.0f : -1.0f) : far.exponent;
  return -math::with_exponent(exponent, math::log_near_one(fraction));
}
DAMO_MATH double exponential_of(u64 word) {
  const bool below = word < (u64(1) << 63);
  const double v = math::exact_mul(math::exact_add(math::wide(i64(below ? word : ~word)), 0.5), 1.0 / 18446744073709551616.0);
  const math::Scaled<double> far = math::scaled(v);
  const bool near = v < 0.29289321881345243;
  const double middle = math::exact_sub(1.0, math::exact_add(v, v)), fraction = below ? (near ? -v : middle) : far.fraction;
  const double exponent = below ? (near ? 0.0 : -1.0) : far.exponent;
  return -math::with_exponent(exponent, math::log_near_one(fraction));
}

// Two numbers of the standard normal distribution (Box and Muller 1958): cosine and, if `odd`, sine of an angle, `turn` being its part of
// a full one, times sqrt(2 exponential). At most 6.8 of 32 bits, 9.5 of 64. quadrant: where the angle is within 45 degrees of its middle.
DAMO_MATH float normal_of(u32 radius, u32 turn, bool odd) {
  const u32 quadrant = (turn + 0x20000000u) >> 30;
  const float x = math::exact_mul(float(i32(turn - (quadrant << 30))), 1.46291807926715968e-9f), z = math::exact_mul(x, x);
  const float sine = math::exact_add(x, math::exact_mul(math::exact_mul(x, z), math::series(z, -1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880)));
  const float cosine = math::series(z, 1.0f, -1.0f / 2, 1.0f / 24, -1.0f / 720, 1.0f / 40320, -1.0f / 3628800);
  const u32 quarter = (quadrant + (odd ? 3u : 0u)) & 3u;
  const float e = exponential_of(radius), r = math::exact_sqrt(math::exact_add(e, e));
  const float value = math::exact_mul(r, (quarter & 1u) ? sine : cosine);
  return math::as_float(math::bits(value) ^ (((quarter + 1u) & 2u) << 30));
}
DAMO_MATH double normal_of(u64 radius, u64 turn, bool odd) {
  const u64 quadrant = (turn + (u64(1) << 61)) >> 62;
  const double x = math::exact_mul(math::wide(i64(turn - (quadrant << 62))), 3.40612158008655459e-19), z = math::exact_mul(x, x);
  const double sine = math::exact_add(x, math::exact_mul(math::exact_mul(x, z), math::series(z, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                                                                                             1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0)));
  const double cosine = math::series(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0);
  const u32 quarter = (u32(quadrant) + (odd ? 3u : 0u)) & 3u;
  const double e = exponential_of(radius), r = math::exact_sqrt(math::exact_add(e, e));
  const double value = math::exact_mul(r, (quarter & 1u) ? sine : cosine);
  return math::as_double(math::bits(value) ^ (u64((quarter + 1u) & 2u) << 62));
}

template <class T>
DAMO_MATH T random_exponential(u64 key, u64 draw, i64 element) {
  if constexpr (sizeof(T) == 4) return exponential_of(random_word(key, draw, element));
  else return exponential_of(random_word64(key, draw, element));
}
// kept with probability below / 2^32, else 0.
template <class T>
DAMO_MATH T random_dropout(u64 key, u64 draw, i64 element, u64 below, T kept) {
  return random_word(key, draw, element) < below ? kept : T(0);
}
// -log of an exponential number: the greatest of log(p) + this belongs to each class with its probability p.
template <class T>
DAMO_MATH T random_gumbel(u64 key, u64 draw, i64 element) {
  return -math::exact_log(random_exponential<T>(key, draw, element));
}
// Two neighbours are one pair.
template <class T>
DAMO_MATH T random_normal(u64 key, u64 draw, i64 element) {
  const bool odd = element & 1;
  if constexpr (sizeof(T) == 4) {
    const Philox block = philox(key, draw, u64(element) >> 2);
    const bool second = element & 2;
    return normal_of(second ? block.c : block.a, second ? block.d : block.b, odd);
  } else {
    const Philox block = philox(key, draw, u64(element) >> 1);
    return normal_of(u64(block.b) << 32 | block.a, u64(block.d) << 32 | block.c, odd);
  }
}
template <class T>
DAMO_MATH T random_scaled(T unit, T scale, T shift) {
  return math::exact_add(math::exact_mul(unit, scale), shift);
}

// What one attempt of a distribution that rejects takes. Blocks of attempts are apart from each other and from all blocks of 2^47 elements.
struct Attempt {
  u64 a, b, c, d;
};
DAMO_MATH Attempt attempt_of(u64 key, u64 draw, i64 element, u32 number) {
  const u64 block = u64(element) | u64(2 * number + 1) << 47;
  const Philox first = philox(key, draw, block), second = philox(key, draw, block + (u64(1) << 47));
  return {u64(first.b) << 32 | first.a, u64(first.d) << 32 | first.c, u64(second.b) << 32 | second.a, u64(second.d) << 32 | second.c};
}
template <class T>
DAMO_MATH T exponential_from(u64 word) {
  if constexpr (sizeof(T) == 4) return exponential_of(u32(word >> 32));
  else return exponential_of(word);
}
template <class T>
DAMO_MATH T uniform_from(u64 word) {
  if constexpr (sizeof(T) == 4) return float(i32(u32(word >> 40))) * (1.0f / 16777216.0f);
  else return math::wide(word >> 11) * (1.0 / 9007199254740992.0);
}
template <class T>
DAMO_MATH T normal_from(u64 radius, u64 turn) {
  if constexpr (sizeof(T) == 4) return normal_of(u32(radius >> 32), u32(turn >> 32), false);
  else return normal_of(radius, turn, false);
}
inline constexpr u32 kMostAttempts = 4096;  // each is accepted with a probability of a third at least

// 0 ... count - 1, all alike (Lemire 2019); of all 2^64 words where count is 0.
DAMO_MATH u64 random_below(u64 key, u64 draw, i64 element, u64 count) {
  u64 word = random_word64(key, draw, element);
  if (count == 0) return word;
  if (word * count < count) {
    const u64 least = (u64(0) - count) % count;
    for (u32 attempt = 0; attempt < kMostAttempts && word * count < least; ++attempt) word = attempt_of(key, draw, element, attempt).a;
  }
  return math::high_product(word, count);
}

// The standard normal distribution between low and high (Robert 1995): by rejection from itself, from an even one, or from an exponential
// one in the tail, so that it is exact however far out. NaN where low > high or one is NaN.
template <class T>
DAMO_MATH T random_truncated_normal(u64 key, u64 draw, i64 element, T low, T high) {
  if (!(low <= high)) return T(math::as_double(0x7ff8000000000000ull));
  if (low == high) return low;
  const bool mirrored = high < T(0);
  const T from = mirrored ? -high : low, to = mirrored ? -low : high;
  const T width = math::exact_sub(to, from);
  const bool tail = from > T(0);
  const bool even = tail ? math::exact_mul(from, width) < T(1) && width < T(1) : width < T(2.5);
  const T rate = math::exact_mul(T(0.5), math::exact_add(from, math::exact_sqrt(math::exact_add(math::exact_mul(from, from), T(4)))));
  const T mode = tail ? from : T(0);
  T z = from;
  for (u32 number = 0; number < kMostAttempts; ++number) {
    const Attempt words = attempt_of(key, draw, element, number);
    const T limit = exponential_from<T>(words.c);
    if (even) {
      z = math::exact_add(from, math::exact_mul(width, uniform_from<T>(words.a)));
      // exp((mode^2 - z^2) / 2) is accepted.
      if (math::exact_mul(T(0.5), math::exact_mul(math::exact_sub(z, mode), math::exact_add(z, mode))) <= limit) break;
    } else if (tail) {
      z = math::exact_add(from, math::exact_div(exponential_from<T>(words.a), rate));
      const T beyond = math::exact_sub(z, rate);
      if (z <= to && math::exact_mul(T(0.5), math::exact_mul(beyond, beyond)) <= limit) break;
    } else {
      z = normal_from<T>(words.a, words.b);
      if (z >= from && z <= to) break;
    }
  }
  z = z < from ? from : z > to ? to : z;
  return mirrored ? -z : z;
}

// Marsaglia and Tsang 2000: d (1 + c x)^3 of a normal x; below 1 the number of shape + 1 times u^(1 / shape). NaN of a shape that is not
// positive and finite.
template <class T>
DAMO_MATH T random_gamma(u64 key, u64 draw, i64 element, T shape) {
  if (!(shape > T(0) && shape < T(1e30))) return T(math::as_double(0x7ff8000000000000ull));
  const bool small = shape < T(1);
  const T d = math::exact_sub(small ? math::exact_add(shape, T(1)) : shape, T(1) / T(3));
  const T c = math::exact_div(T(1), math::exact_mul(T(3), math::exact_sqrt(d)));
  T v = T(1);
  u64 rest = 0;
  for (u32 number = 0; number < kMostAttempts; ++number) {
    const Attempt words = attempt_of(key, draw, element, number);
    const T x = normal_from<T>(words.a, words.b), root = math::exact_add(T(1), math::exact_mul(c, x));
    if (!(root > T(0))) continue;
    v = math::exact_mul(root, math::exact_mul(root, root));
    rest = words.d;
    // log(u) < x^2 / 2 + d (1 - v + log(v))
    const T inner = math::exact_add(math::exact_sub(T(1), v), math::exact_log(v));
    if (math::exact_add(exponential_from<T>(words.c), math::exact_add(math::exact_mul(T(0.5), math::exact_mul(x, x)), math::exact_mul(d, inner))) > T(0)) break;
  }
  const T value = math::exact_mul(d, v);
  return small ? math::exact_mul(value, math::exact_exp(-math::exact_div(exponential_from<T>(rest), shape))) : value;
}

namespace math {

// n log(rate) - rate - log(n!) of a whole n: of small ones as it stands, else by Stirling's series, with n log(n / rate) - n + rate from the relative
// distance of the two, as great terms would cancel (Loader 2000).
DAMO_MATH double log_poisson(double n, double rate) {
  if (n < 10) {
    double product = 1;
    for (int i = 2; i <= i32(n); ++i) product = exact_mul(product, double(i));
    return exact_sub(exact_sub(exact_mul(n, exact_log(rate)), rate), exact_log(product));
  }
  const double over = exact_div(1.0, n), z = exact_mul(over, over), tail = exact_mul(over, series(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680));
  const double apart = exact_div(exact_sub(n, rate), rate), ratio = exact_add(1.0, apart);
  const double log_ratio = apart > -0.29 && apart < 0.41 ? log_near_one(apart) : exact_log(ratio);
  const double deviance = exact_mul(rate, exact_sub(exact_mul(ratio, log_ratio), apart));
  return -exact_add(exact_add(deviance, tail), exact_mul(0.5, exact_log(exact_mul(6.283185307179586, n))));
}

}  // namespace math

// Rates below 10: how many exponential numbers fit into the rate. Else by transformed rejection (Hoermann 1993, PTRS). -1 of a rate that
// is negative, NaN or above 2^60.
DAMO_MATH i64 random_poisson(u64 key, u64 draw, i64 element, double rate) {
  if (!(rate >= 0 && rate <= 1152921504606846976.0)) return -1;
  if (rate < 10) {
    double sum = 0;
    for (u32 number = 0; number < kMostAttempts; ++number) {
      const Attempt words = attempt_of(key, draw, element, number);
      const u64 own[4] = {words.a, words.b, words.c, words.d};
      for (int i = 0; i < 4; ++i) {
        sum = math::exact_add(sum, exponential_of(own[i]));
        if (sum > rate) return i64(4 * number) + i;
      }
    }
    return i64(4 * kMostAttempts);
  }
  const double root = math::exact_sqrt(rate);
  const double b = math::exact_add(0.931, math::exact_mul(2.53, root)), a = math::exact_add(-0.059, math::exact_mul(0.02483, b));
  const double inverse = math::exact_add(1.1239, math::exact_div(1.1328, math::exact_sub(b, 3.4))), accept = math::exact_sub(0.9277, math::exact_div(3.6224, math::exact_sub(b, 2.0)));
  i64 k = i64(rate);
  for (u32 number = 0; number < kMostAttempts; ++number) {
    const Attempt words = attempt_of(key, draw, element, number);
    const double u = math::exact_sub(uniform_from<double>(words.a), 0.5), v = math::exact_sub(1.0, uniform_from<double>(words.b));
    const double us = math::exact_sub(0.5, u < 0 ? -u : u);
    const double x = math::exact_add(math::exact_add(math::exact_mul(math::exact_add(math::exact_div(math::exact_add(a, a), us), b), u), rate), 0.43);
    if (!(x >= 0 && x < 9e18) || (us < 0.013 && v > us)) continue;
    k = i64(x);
    if (us >= 0.07 && v <= accept) break;
    const double left = math::exact_log(math::exact_div(math::exact_mul(v, inverse), math::exact_add(math::exact_div(a, math::exact_mul(us, us)), b)));
    if (left <= math::log_poisson(double(k), rate)) break;
  }
  return k;
}

}  // namespace damo
