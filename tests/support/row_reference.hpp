// What each built-in row should give, written without its code: floating rows in long double by the C library,
// integer rows in 128 bits, by NumPy's definitions.
#pragma once
#include <string_view>

namespace damo::testing {

using Wide = long double;
__extension__ typedef __int128 Big;

struct RowReference {
  std::string_view name;
  Wide (*floating)(Wide x, Wide y, Wide z);  ///< null: the row takes no floating dtype
  Big (*integer)(Big x, Big y, Big z);       ///< null: no integer; what exceeds the dtype is cut off modulo 2^n
};

/// Null if there is none.
const RowReference* reference_of(std::string_view row);

}  // namespace damo::testing
