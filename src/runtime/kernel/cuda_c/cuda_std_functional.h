// <functional>: the operators as objects.
#pragma once

namespace std {

#define DAMO_OPERATOR(name, expression)                                                            \
  template <class T = void>                                                                        \
  struct name {                                                                                    \
    DAMO_STD auto operator()(const T& x, const T& y) const { return expression; }                  \
  };                                                                                               \
  template <>                                                                                      \
  struct name<void> {                                                                              \
    template <class A, class B>                                                                    \
    DAMO_STD auto operator()(const A& x, const B& y) const { return expression; }                  \
  };
DAMO_OPERATOR(plus, x + y)
DAMO_OPERATOR(minus, x - y)
DAMO_OPERATOR(multiplies, x * y)
DAMO_OPERATOR(divides, x / y)
DAMO_OPERATOR(modulus, x % y)
DAMO_OPERATOR(equal_to, x == y)
DAMO_OPERATOR(not_equal_to, x != y)
DAMO_OPERATOR(less, x < y)
DAMO_OPERATOR(greater, x > y)
DAMO_OPERATOR(less_equal, x <= y)
DAMO_OPERATOR(greater_equal, x >= y)
DAMO_OPERATOR(logical_and, x && y)
DAMO_OPERATOR(logical_or, x || y)
DAMO_OPERATOR(bit_and, x & y)
DAMO_OPERATOR(bit_or, x | y)
DAMO_OPERATOR(bit_xor, x ^ y)
#undef DAMO_OPERATOR
template <class T = void>
struct negate {
  template <class A>
  DAMO_STD auto operator()(const A& x) const { return -x; }
};
template <class T = void>
struct logical_not {
  template <class A>
  DAMO_STD bool operator()(const A& x) const { return !x; }
};
struct identity {
  template <class T>
  DAMO_STD T&& operator()(T&& x) const { return static_cast<T&&>(x); }
};

}  // namespace std
