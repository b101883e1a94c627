// <utility>, <array>, <tuple>, <initializer_list>, <bit>.
#pragma once

namespace std {

#ifdef __DAMO_CPU__  // NVRTC knows these three by itself
template <class T>
DAMO_STD T&& forward(remove_reference_t<T>& x) noexcept { return static_cast<T&&>(x); }
template <class T>
DAMO_STD T&& forward(remove_reference_t<T>&& x) noexcept { return static_cast<T&&>(x); }
template <class T>
DAMO_STD remove_reference_t<T>&& move(T&& x) noexcept { return static_cast<remove_reference_t<T>&&>(x); }
template <class T>
class initializer_list {
 public:
  using value_type = T;
  using size_type = size_t;
  DAMO_STD initializer_list() noexcept : begin_(nullptr), size_(0) {}
  DAMO_STD size_t size() const noexcept { return size_; }
  DAMO_STD const T* begin() const noexcept { return begin_; }
  DAMO_STD const T* end() const noexcept { return begin_ + size_; }

 private:
  const T* begin_;
  size_t size_;
};
#endif

template <class T>
DAMO_STD void swap(T& a, T& b) noexcept {
  T old = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(old);
}
template <class T, class U = T>
DAMO_STD T exchange(T& object, U&& value) {
  T old = static_cast<T&&>(object);
  object = static_cast<U&&>(value);
  return old;
}
template <class T>
DAMO_STD const T& as_const(T& x) noexcept { return x; }

template <class T, T... I>
struct integer_sequence {
  using value_type = T;
  DAMO_STD static size_t size() noexcept { return sizeof...(I); }
};
template <size_t... I>
using index_sequence = integer_sequence<size_t, I...>;
template <class T, size_t N, T... I>
struct damo_sequence : damo_sequence<T, N - 1, T(N - 1), I...> {};
template <class T, T... I>
struct damo_sequence<T, 0, I...> : type_identity<integer_sequence<T, I...>> {};
template <class T, T N>
using make_integer_sequence = typename damo_sequence<T, size_t(N)>::type;
template <size_t N>
using make_index_sequence = make_integer_sequence<size_t, N>;
template <class... T>
using index_sequence_for = make_index_sequence<sizeof...(T)>;

// ---- pair ---------------------------------------------------------------------------------------------------------
template <class T1, class T2>
struct pair {
  using first_type = T1;
  using second_type = T2;
  T1 first{};
  T2 second{};
  pair() = default;
  DAMO_STD pair(const T1& a, const T2& b) : first(a), second(b) {}
  template <class U1, class U2>
  DAMO_STD pair(const pair<U1, U2>& other) : first(other.first), second(other.second) {}
};
template <class T1, class T2>
pair(T1, T2) -> pair<T1, T2>;
template <class T1, class T2>
DAMO_STD pair<decay_t<T1>, decay_t<T2>> make_pair(T1&& a, T2&& b) { return {a, b}; }
template <class T1, class T2>
DAMO_STD bool operator==(const pair<T1, T2>& a, const pair<T1, T2>& b) { return a.first == b.first && a.second == b.second; }
template <class T1, class T2>
DAMO_STD bool operator<(const pair<T1, T2>& a, const pair<T1, T2>& b) {
  return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}

// ---- array --------------------------------------------------------------------------------------------------------
template <class T, size_t N>
struct array {
  using value_type = T;
  using size_type = size_t;
  using iterator = T*;
  using const_iterator = const T*;
  T damo_elements[N ? N : 1];

  DAMO_STD T& operator[](size_t i) { return damo_elements[i]; }
  DAMO_STD const T& operator[](size_t i) const { return damo_elements[i]; }
  DAMO_STD T* data() { return damo_elements; }
  DAMO_STD const T* data() const { return damo_elements; }
  DAMO_STD T* begin() { return damo_elements; }
  DAMO_STD const T* begin() const { return damo_elements; }
  DAMO_STD T* end() { return damo_elements + N; }
  DAMO_STD const T* end() const { return damo_elements + N; }
  DAMO_STD T& front() { return damo_elements[0]; }
  DAMO_STD const T& front() const { return damo_elements[0]; }
  DAMO_STD T& back() { return damo_elements[N - 1]; }
  DAMO_STD const T& back() const { return damo_elements[N - 1]; }
  DAMO_STD size_t size() const { return N; }
  DAMO_STD bool empty() const { return N == 0; }
  DAMO_STD void fill(const T& value) {
    for (size_t i = 0; i < N; ++i) damo_elements[i] = value;
  }
};
template <class T, class... U>
array(T, U...) -> array<T, 1 + sizeof...(U)>;

// ---- tuple --------------------------------------------------------------------------------------------------------
template <size_t I, class T>
struct damo_leaf {
  T value{};
};
template <class Indices, class... T>
struct damo_tuple;
template <size_t... I, class... T>
struct damo_tuple<index_sequence<I...>, T...> : damo_leaf<I, T>... {
  damo_tuple() = default;
  template <class... U>
  DAMO_STD damo_tuple(int, U&&... values) : damo_leaf<I, T>{static_cast<U&&>(values)}... {}
};
template <class... T>
struct tuple;
template <size_t I, class... T>
DAMO_STD auto& get(tuple<T...>& t);
template <size_t I, class... T>
DAMO_STD const auto& get(const tuple<T...>& t);
template <class... T>
struct tuple : damo_tuple<index_sequence_for<T...>, T...> {
  using base = damo_tuple<index_sequence_for<T...>, T...>;
  tuple() = default;
  template <class... U, class = enable_if_t<sizeof...(U) == sizeof...(T) && (sizeof...(U) > 0) &&
                                            !(is_same_v<decay_t<U>, tuple> || ...)>>
  DAMO_STD tuple(U&&... values) : base(0, static_cast<U&&>(values)...) {}
  template <class... U, size_t... I>
  DAMO_STD void damo_assign(const tuple<U...>& other, index_sequence<I...>) {
    ((get<I>(*this) = get<I>(other)), ...);
  }
  template <class... U>
  DAMO_STD tuple& operator=(const tuple<U...>& other) {
    damo_assign(other, index_sequence_for<T...>{});
    return *this;
  }
  tuple(const tuple&) = default;
  tuple& operator=(const tuple&) = default;
};
template <class... T>
tuple(T...) -> tuple<T...>;
template <class T>
struct tuple_size;
template <class... T>
struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <class A, class B>
struct tuple_size<pair<A, B>> : integral_constant<size_t, 2> {};
template <class T, size_t N>
struct tuple_size<array<T, N>> : integral_constant<size_t, N> {};
template <class T>
struct tuple_size<const T> : tuple_size<T> {};
template <class T>
inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t I, class T>
DAMO_STD T& damo_get(damo_leaf<I, T>& leaf) { return leaf.value; }
template <size_t I, class T>
DAMO_STD const T& damo_get(const damo_leaf<I, T>& leaf) { return leaf.value; }
template <size_t I, class T>
__host__ __device__ type_identity<T> damo_element(const damo_leaf<I, T>&);
template <size_t I, class T>
struct tuple_element;
template <size_t I, class... T>
struct tuple_element<I, tuple<T...>> : decltype(damo_element<I>(declval<tuple<T...>>())) {};
template <class A, class B>
struct tuple_element<0, pair<A, B>> : type_identity<A> {};
template <class A, class B>
struct tuple_element<1, pair<A, B>> : type_identity<B> {};
template <size_t I, class T, size_t N>
struct tuple_element<I, array<T, N>> : type_identity<T> {};
template <size_t I, class T>
struct tuple_element<I, const T> : type_identity<const typename tuple_element<I, T>::type> {};
template <size_t I, class T>
using tuple_element_t = typename tuple_element<I, T>::type;
template <size_t I, class... T>
DAMO_STD auto& get(tuple<T...>& t) { return damo_get<I>(t); }
template <size_t I, class... T>
DAMO_STD const auto& get(const tuple<T...>& t) { return damo_get<I>(t); }
template <size_t I, class... T>
DAMO_STD auto& get(tuple<T...>&& t) { return damo_get<I>(t); }
template <size_t I, class A, class B>
DAMO_STD auto& get(pair<A, B>& p) {
  if constexpr (I == 0) return p.first;
  else return p.second;
}
template <size_t I, class A, class B>
DAMO_STD auto& get(pair<A, B>&& p) { return get<I>(p); }
template <size_t I, class A, class B>
DAMO_STD const auto& get(const pair<A, B>& p) {
  if constexpr (I == 0) return p.first;
  else return p.second;
}
template <size_t I, class T, size_t N>
DAMO_STD T& get(array<T, N>& a) { return a[I]; }
template <size_t I, class T, size_t N>
DAMO_STD T& get(array<T, N>&& a) { return a[I]; }
template <size_t I, class T, size_t N>
DAMO_STD const T& get(const array<T, N>& a) { return a[I]; }
template <class... T>
DAMO_STD tuple<decay_t<T>...> make_tuple(T&&... values) { return tuple<decay_t<T>...>(static_cast<T&&>(values)...); }
template <class... T>
DAMO_STD tuple<T&...> tie(T&... values) { return tuple<T&...>(values...); }
template <class F, class T, size_t... I>
DAMO_STD decltype(auto) damo_apply(F&& f, T&& t, index_sequence<I...>) { return f(get<I>(t)...); }
template <class F, class T>
DAMO_STD decltype(auto) apply(F&& f, T&& t) {
  return damo_apply(static_cast<F&&>(f), static_cast<T&&>(t), make_index_sequence<tuple_size<decay_t<T>>::value>{});
}

// ---- bit ----------------------------------------------------------------------------------------------------------
template <class To, class From>
DAMO_STD To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  return __builtin_bit_cast(To, from);
}
template <class T>
__host__ __device__ inline int popcount(T x) { return sizeof(T) <= 4 ? __popc(unsigned(x)) : __popcll(x); }
template <class T>
__host__ __device__ inline int countl_zero(T x) {
  return sizeof(T) <= 4 ? __clz(int(x)) - int(32 - 8 * sizeof(T)) : __clzll((long long)x);
}
template <class T>
__host__ __device__ inline int countr_zero(T x) {
  return x == 0 ? int(8 * sizeof(T)) : sizeof(T) <= 4 ? __ffs(int(x)) - 1 : __ffsll((long long)x) - 1;
}
template <class T>
DAMO_STD T rotl(T x, int n) {
  constexpr int kBits = 8 * sizeof(T);
  n = ((n % kBits) + kBits) % kBits;
  return n == 0 ? x : T(x << n | x >> (kBits - n));
}
template <class T>
DAMO_STD T rotr(T x, int n) { return rotl(x, -n); }
template <class T>
DAMO_STD bool has_single_bit(T x) { return x != 0 && (x & (x - 1)) == 0; }

}  // namespace std
