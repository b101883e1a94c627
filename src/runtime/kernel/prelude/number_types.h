// Embedded text, before core.h of both back ends: the types of elements, as generated text names them.
#pragma once

namespace damo {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using f32 = float;
using f64 = double;

}  // namespace damo
