// <type_traits>, <concepts> and the types of <cstddef> and <cstdint>.
#pragma once

namespace std {

using ::size_t;
using ::ptrdiff_t;
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using intptr_t = long;
using uintptr_t = unsigned long;
using intmax_t = long;
using uintmax_t = unsigned long;
using nullptr_t = decltype(nullptr);
enum class byte : unsigned char {};

template <class T, T Value>
struct integral_constant {
  using value_type = T;
  using type = integral_constant;
  static constexpr T value = Value;
  DAMO_STD operator T() const { return Value; }
  DAMO_STD T operator()() const { return Value; }
};
template <bool B>
using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;
template <class T>
struct type_identity {
  using type = T;
};
template <class T>
using type_identity_t = T;
template <class...>
using void_t = void;

// ---- changes of types ---------------------------------------------------------------------------------------------
#define DAMO_CHANGE(name, ...)                   \
  template <class T>                             \
  struct name : type_identity<T> {};             \
  __VA_ARGS__                                    \
  template <class T>                             \
  using name##_t = typename name<T>::type;
#define DAMO_CASE(name, from, to) template <class T> struct name<from> : type_identity<to> {};
DAMO_CHANGE(remove_const, DAMO_CASE(remove_const, const T, T))
DAMO_CHANGE(remove_volatile, DAMO_CASE(remove_volatile, volatile T, T))
DAMO_CHANGE(remove_cv, DAMO_CASE(remove_cv, const T, T) DAMO_CASE(remove_cv, volatile T, T) DAMO_CASE(remove_cv, const volatile T, T))
DAMO_CHANGE(remove_reference, DAMO_CASE(remove_reference, T&, T) DAMO_CASE(remove_reference, T&&, T))
DAMO_CHANGE(remove_pointer, DAMO_CASE(remove_pointer, T*, T) DAMO_CASE(remove_pointer, T* const, T))
DAMO_CHANGE(remove_extent, DAMO_CASE(remove_extent, T[], T) template <class T, size_t N> struct remove_extent<T[N]> : type_identity<T> {};)
DAMO_CHANGE(remove_all_extents, template <class T> struct remove_all_extents<T[]> : remove_all_extents<T> {};
            template <class T, size_t N> struct remove_all_extents<T[N]> : remove_all_extents<T> {};)
#undef DAMO_CHANGE
#undef DAMO_CASE
template <class T>
using remove_cvref_t = remove_cv_t<remove_reference_t<T>>;
template <class T>
struct remove_cvref : type_identity<remove_cvref_t<T>> {};
template <class T>
using add_const_t = const T;
template <class T>
struct add_const : type_identity<const T> {};
template <class T>
using add_pointer_t = remove_reference_t<T>*;
template <class T>
struct add_pointer : type_identity<add_pointer_t<T>> {};
template <class T>
using add_lvalue_reference_t = T&;
template <class T>
using add_rvalue_reference_t = T&&;
template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> : type_identity<T> {};
template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F>
struct conditional : type_identity<T> {};
template <class T, class F>
struct conditional<false, T, F> : type_identity<F> {};
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;
template <class T>
__host__ __device__ T&& declval() noexcept;

// ---- questions about types ----------------------------------------------------------------------------------------
#define DAMO_QUESTION(name, ...)                        \
  template <class T>                                    \
  struct name : bool_constant<(__VA_ARGS__)> {};        \
  template <class T>                                    \
  inline constexpr bool name##_v = name<T>::value;
template <class T, class U>
struct is_same : false_type {};
template <class T>
struct is_same<T, T> : true_type {};
template <class T, class U>
inline constexpr bool is_same_v = is_same<T, U>::value;
template <class T, class... U>
inline constexpr bool damo_is_any_of = (is_same_v<remove_cv_t<T>, U> || ...);
DAMO_QUESTION(is_void, is_same_v<remove_cv_t<T>, void>)
DAMO_QUESTION(is_null_pointer, is_same_v<remove_cv_t<T>, decltype(nullptr)>)
DAMO_QUESTION(is_integral, damo_is_any_of<T, bool, char, signed char, unsigned char, wchar_t, char16_t, char32_t, short,
                                          unsigned short, int, unsigned, long, unsigned long, long long, unsigned long long>)
DAMO_QUESTION(is_floating_point, damo_is_any_of<T, float, double, long double>)
DAMO_QUESTION(is_arithmetic, is_integral_v<T> || is_floating_point_v<T>)
DAMO_QUESTION(is_enum, __is_enum(T))
DAMO_QUESTION(is_union, __is_union(T))
DAMO_QUESTION(is_class, __is_class(T))
DAMO_QUESTION(is_empty, __is_empty(T))
DAMO_QUESTION(is_final, __is_final(T))
DAMO_QUESTION(is_abstract, __is_abstract(T))
DAMO_QUESTION(is_polymorphic, __is_polymorphic(T))
DAMO_QUESTION(is_trivially_copyable, __is_trivially_copyable(T))
DAMO_QUESTION(is_standard_layout, __is_standard_layout(T))
DAMO_QUESTION(is_trivial, __is_trivial(T))
DAMO_QUESTION(is_pod, __is_trivial(T) && __is_standard_layout(T))
DAMO_QUESTION(is_default_constructible, __is_constructible(T))
DAMO_QUESTION(is_copy_constructible, __is_constructible(T, const T&))
DAMO_QUESTION(is_trivially_default_constructible, __is_trivially_constructible(T))
template <class T>
struct damo_is_pointer : false_type {};
template <class T>
struct damo_is_pointer<T*> : true_type {};
DAMO_QUESTION(is_pointer, damo_is_pointer<remove_cv_t<T>>::value)
template <class T>
struct damo_is_const : false_type {};
template <class T>
struct damo_is_const<const T> : true_type {};
DAMO_QUESTION(is_const, damo_is_const<T>::value)
DAMO_QUESTION(is_lvalue_reference, !is_same_v<T, remove_reference_t<T>> && is_same_v<T, remove_reference_t<T>&>)
DAMO_QUESTION(is_rvalue_reference, !is_same_v<T, remove_reference_t<T>> && is_same_v<T, remove_reference_t<T>&&>)
DAMO_QUESTION(is_reference, !is_same_v<T, remove_reference_t<T>>)
DAMO_QUESTION(is_array, !is_same_v<T, remove_extent_t<T>>)
DAMO_QUESTION(is_function, !is_reference_v<T> && !is_const<const T>::value)
DAMO_QUESTION(is_scalar, is_arithmetic_v<T> || is_pointer_v<T> || is_enum_v<T> || is_null_pointer_v<T>)
DAMO_QUESTION(is_fundamental, is_arithmetic_v<T> || is_void_v<T> || is_null_pointer_v<T>)
template <class T, bool = is_arithmetic_v<T>>
struct damo_is_signed : bool_constant<(T(-1) < T(0))> {};
template <class T>
struct damo_is_signed<T, false> : false_type {};
DAMO_QUESTION(is_signed, damo_is_signed<T>::value)
DAMO_QUESTION(is_unsigned, is_arithmetic_v<T> && !is_signed_v<T>)
#undef DAMO_QUESTION
template <class B, class D>
struct is_base_of : bool_constant<__is_base_of(B, D)> {};
template <class B, class D>
inline constexpr bool is_base_of_v = is_base_of<B, D>::value;
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A>
inline constexpr bool is_constructible_v = is_constructible<T, A...>::value;
template <class From, class To>
struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};
template <class From, class To>
inline constexpr bool is_convertible_v = is_convertible<From, To>::value;
template <class T, class U>
struct is_assignable : bool_constant<__is_assignable(T, U)> {};
template <class T>
struct extent : integral_constant<size_t, 0> {};
template <class T, size_t N>
struct extent<T[N]> : integral_constant<size_t, N> {};
template <class T>
inline constexpr size_t extent_v = extent<T>::value;
template <class T>
struct rank : integral_constant<size_t, 0> {};
template <class T, size_t N>
struct rank<T[N]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T>
inline constexpr size_t rank_v = rank<T>::value;
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <size_t Size, size_t Alignment = (Size >= 16 ? 16 : Size >= 8 ? 8 : Size >= 4 ? 4 : Size >= 2 ? 2 : 1)>
struct aligned_storage {
  struct alignas(Alignment) type {
    unsigned char bytes[Size];
  };
};
template <size_t Size, size_t Alignment = alignof(typename aligned_storage<Size>::type)>
using aligned_storage_t = typename aligned_storage<Size, Alignment>::type;

template <class T>
struct decay {
  using bare = remove_reference_t<T>;
  using type = conditional_t<is_array_v<bare>, remove_extent_t<bare>*, conditional_t<is_function_v<bare>, add_pointer_t<bare>, remove_cv_t<bare>>>;
};
template <class T>
using decay_t = typename decay<T>::type;
template <class T>
struct underlying_type : type_identity<__underlying_type(T)> {};
template <class T>
using underlying_type_t = typename underlying_type<T>::type;
template <size_t Bytes, bool Signed>
struct damo_integer;
#define DAMO_INTEGER(S, U)                                         \
  template <> struct damo_integer<sizeof(S), true> : type_identity<S> {}; \
  template <> struct damo_integer<sizeof(U), false> : type_identity<U> {};
DAMO_INTEGER(signed char, unsigned char)
DAMO_INTEGER(short, unsigned short)
DAMO_INTEGER(int, unsigned)
DAMO_INTEGER(long, unsigned long)
#undef DAMO_INTEGER
template <class T>
struct make_signed : damo_integer<sizeof(T), true> {};
template <class T>
struct make_unsigned : damo_integer<sizeof(T), false> {};
template <>
struct make_signed<unsigned long long> : type_identity<long long> {};
template <>
struct make_signed<long long> : type_identity<long long> {};
template <>
struct make_unsigned<long long> : type_identity<unsigned long long> {};
template <>
struct make_unsigned<unsigned long long> : type_identity<unsigned long long> {};
template <class T>
using make_signed_t = typename make_signed<T>::type;
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;

template <class... T>
struct common_type;
template <class T>
struct common_type<T> : decay<T> {};
template <class T, class U>
struct common_type<T, U> : decay<decltype(true ? declval<T>() : declval<U>())> {};
template <class T, class U, class... Rest>
struct common_type<T, U, Rest...> : common_type<typename common_type<T, U>::type, Rest...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;
template <class F, class... A>
using invoke_result_t = decltype(declval<F>()(declval<A>()...));
template <class F, class... A>
struct invoke_result : type_identity<invoke_result_t<F, A...>> {};
template <class, class F, class... A>
struct damo_is_invocable : false_type {};
template <class F, class... A>
struct damo_is_invocable<void_t<invoke_result_t<F, A...>>, F, A...> : true_type {};
template <class F, class... A>
struct is_invocable : damo_is_invocable<void, F, A...> {};
template <class F, class... A>
inline constexpr bool is_invocable_v = is_invocable<F, A...>::value;
template <class... B>
struct conjunction : bool_constant<(bool(B::value) && ...)> {};
template <class... B>
struct disjunction : bool_constant<(bool(B::value) || ...)> {};
template <class B>
struct negation : bool_constant<!bool(B::value)> {};
template <class... B>
inline constexpr bool conjunction_v = conjunction<B...>::value;
template <class... B>
inline constexpr bool disjunction_v = disjunction<B...>::value;
template <class B>
inline constexpr bool negation_v = negation<B>::value;
DAMO_STD bool is_constant_evaluated() noexcept { return __builtin_is_constant_evaluated(); }

#if __cplusplus >= 202002L
template <class T, class U>
concept same_as = is_same_v<T, U> && is_same_v<U, T>;
template <class T>
concept integral = is_integral_v<T>;
template <class T>
concept signed_integral = integral<T> && is_signed_v<T>;
template <class T>
concept unsigned_integral = integral<T> && !is_signed_v<T>;
template <class T>
concept floating_point = is_floating_point_v<T>;
template <class From, class To>
concept convertible_to = is_convertible_v<From, To>;
template <class F, class... A>
concept invocable = is_invocable_v<F, A...>;
#endif

}  // namespace std
