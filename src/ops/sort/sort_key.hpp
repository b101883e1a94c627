// By what elements are sorted: words whose order is theirs (SortKey, library/line_sort.hpp), for kernels of CUDA C and for native ones.
#pragma once
#include <string>

#include <damo/dtype.hpp>
#include "runtime/library/line_sort.hpp"

namespace damo {

/// NaN behind all others, both zeros alike; the other way round where descending.
SortKey sort_key(DType dtype, bool is_descending);

/// order_of<Word, is_floating>(word, infinity, flip): the key of a word of that many bytes, as SortKey says.
extern const char* const kOrderOf;
/// "name<unsigned, true": a kernel's instance for words of the dtype, as far as these tell.
std::string of_words(const char* name, DType dtype);

}  // namespace damo
