// <algorithm> and <numeric>, the functions that need no memory. sort is an insertion sort: for a thread's few values.
#pragma once

namespace std {

template <class T>
DAMO_STD const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T>
DAMO_STD const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T, class Less>
DAMO_STD const T& min(const T& a, const T& b, Less less) { return less(b, a) ? b : a; }
template <class T, class Less>
DAMO_STD const T& max(const T& a, const T& b, Less less) { return less(a, b) ? b : a; }
template <class T>
DAMO_STD T min(initializer_list<T> values) {
  T result = *values.begin();
  for (const T& value : values) result = value < result ? value : result;
  return result;
}
template <class T>
DAMO_STD T max(initializer_list<T> values) {
  T result = *values.begin();
  for (const T& value : values) result = result < value ? value : result;
  return result;
}
template <class T>
DAMO_STD pair<T, T> minmax(const T& a, const T& b) { return b < a ? pair<T, T>(b, a) : pair<T, T>(a, b); }
template <class T>
DAMO_STD const T& clamp(const T& x, const T& low, const T& high) { return x < low ? low : high < x ? high : x; }

template <class I, class T>
DAMO_STD void fill(I first, I last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class N, class T>
DAMO_STD I fill_n(I first, N count, const T& value) {
  for (N i = 0; i < count; ++i) *first++ = value;
  return first;
}
template <class I, class O>
DAMO_STD O copy(I first, I last, O to) {
  for (; first != last; ++first) *to++ = *first;
  return to;
}
template <class I, class N, class O>
DAMO_STD O copy_n(I first, N count, O to) {
  for (N i = 0; i < count; ++i) *to++ = *first++;
  return to;
}
template <class I, class O, class F>
DAMO_STD O transform(I first, I last, O to, F f) {
  for (; first != last; ++first) *to++ = f(*first);
  return to;
}
template <class I, class F>
DAMO_STD F for_each(I first, I last, F f) {
  for (; first != last; ++first) f(*first);
  return f;
}
template <class I, class T>
DAMO_STD I find(I first, I last, const T& value) {
  while (first != last && !(*first == value)) ++first;
  return first;
}
template <class I, class F>
DAMO_STD I find_if(I first, I last, F test) {
  while (first != last && !test(*first)) ++first;
  return first;
}
template <class I, class F>
DAMO_STD bool any_of(I first, I last, F test) { return find_if(first, last, test) != last; }
template <class I, class F>
DAMO_STD bool none_of(I first, I last, F test) { return !any_of(first, last, test); }
template <class I, class F>
DAMO_STD bool all_of(I first, I last, F test) {
  while (first != last && test(*first)) ++first;
  return first == last;
}
template <class I, class T>
DAMO_STD ptrdiff_t count(I first, I last, const T& value) {
  ptrdiff_t n = 0;
  for (; first != last; ++first) n += *first == value;
  return n;
}
template <class I, class J>
DAMO_STD bool equal(I first, I last, J other) {
  for (; first != last; ++first, ++other) {
    if (!(*first == *other)) return false;
  }
  return true;
}
template <class I, class Less = less<>>
DAMO_STD I min_element(I first, I last, Less less = {}) {
  I best = first;
  for (; first != last; ++first) best = less(*first, *best) ? first : best;
  return best;
}
template <class I, class Less = less<>>
DAMO_STD I max_element(I first, I last, Less less = {}) {
  I best = first;
  for (; first != last; ++first) best = less(*best, *first) ? first : best;
  return best;
}
template <class I, class T, class Less = less<>>
DAMO_STD I lower_bound(I first, I last, const T& value, Less less = {}) {
  auto count = last - first;
  while (count > 0) {
    const auto half = count / 2;
    if (less(first[half], value)) first += half + 1, count -= half + 1;
    else count = half;
  }
  return first;
}
template <class I, class T, class Less = less<>>
DAMO_STD I upper_bound(I first, I last, const T& value, Less less = {}) {
  auto count = last - first;
  while (count > 0) {
    const auto half = count / 2;
    if (!less(value, first[half])) first += half + 1, count -= half + 1;
    else count = half;
  }
  return first;
}
template <class I, class T>
DAMO_STD bool binary_search(I first, I last, const T& value) {
  first = lower_bound(first, last, value);
  return first != last && !(value < *first);
}
template <class I>
DAMO_STD void reverse(I first, I last) {
  while (first != last && first != --last) swap(*first++, *last);
}
template <class I, class Less = less<>>
DAMO_STD void sort(I first, I last, Less less = {}) {
  for (I at = first; at != last; ++at) {
    for (I here = at; here != first && less(*here, *(here - 1)); --here) swap(*here, *(here - 1));
  }
}
template <class I, class T>
DAMO_STD T accumulate(I first, I last, T sum) {
  for (; first != last; ++first) sum = sum + *first;
  return sum;
}
template <class I, class T, class F>
DAMO_STD T accumulate(I first, I last, T sum, F add) {
  for (; first != last; ++first) sum = add(sum, *first);
  return sum;
}
template <class I, class J, class T>
DAMO_STD T inner_product(I first, I last, J other, T sum) {
  for (; first != last; ++first, ++other) sum = sum + *first * *other;
  return sum;
}
template <class I, class T>
DAMO_STD void iota(I first, I last, T value) {
  for (; first != last; ++first, ++value) *first = value;
}
template <class T>
DAMO_STD T gcd(T a, T b) {
  while (b != 0) {
    const T rest = a % b;
    a = b, b = rest;
  }
  return a < 0 ? -a : a;
}
template <class T>
DAMO_STD T lcm(T a, T b) { return a == 0 || b == 0 ? T(0) : a / gcd(a, b) * b; }

}  // namespace std
