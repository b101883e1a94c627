#include "ops/sort/sort_key.hpp"

namespace damo {
namespace {

std::uint64_t infinity_of(DType dtype) {
  if (dtype == float16) return 0x7c00;
  if (dtype == bfloat16) return 0x7f80;
  return dtype == float32 ? 0x7f800000 : dtype == float64 ? 0x7ff0000000000000u
                                                          : 0;
}

}  // namespace

SortKey sort_key(DType dtype, bool is_descending) {
  const int bits = 8 * static_cast<int>(itemsize(dtype));
  const std::uint64_t sign = is_signed(dtype) && !is_floating(dtype) ? std::uint64_t{1} << (bits - 1) : 0, all = ~std::uint64_t{0} >> (64 - bits);
  return {.infinity = infinity_of(dtype), .flip = is_descending ? sign ^ all : sign, .bytes = bits / 8};
}

const char* const kOrderOf = R"(
template <class Word, bool is_floating>
__device__ Word order_of(Word word, Word infinity, Word flip) {
  if (!is_floating) return Word(word ^ flip);
  const Word sign = Word(Word(1) << (8 * sizeof(Word) - 1)), size = Word(word & ~sign), negative = Word(-(word >> (8 * sizeof(Word) - 1)));
  const Word key = Word((size ^ negative) - negative + sign);
  return Word((size > infinity ? Word(~Word(0)) : key) ^ flip);
}
)";

std::string of_words(const char* name, DType dtype) {
  static constexpr const char* kTypes[] = {"unsigned char", "unsigned short", "", "unsigned", "", "", "", "unsigned long long"};
  return std::string(name) + "<" + kTypes[itemsize(dtype) - 1] + (is_floating(dtype) ? ", true" : ", false");
}

}  // namespace damo
