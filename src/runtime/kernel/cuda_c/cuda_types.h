// The names of integer types that nvcc declares without an include, as Linux has them: 64 bits are long. A source that
// gives one of the names another meaning compiles with its own: what stands in its way here is left out by the macro
// __DAMO_OWN_name (runtime/kernel/host_code.cpp finds which).
#pragma once
#ifndef __DAMO_OWN_int8_t
using int8_t = signed char;
#endif
#ifndef __DAMO_OWN_int16_t
using int16_t = short;
#endif
#ifndef __DAMO_OWN_int32_t
using int32_t = int;
#endif
#ifndef __DAMO_OWN_int64_t
using int64_t = long;
#endif
#ifndef __DAMO_OWN_uint8_t
using uint8_t = unsigned char;
#endif
#ifndef __DAMO_OWN_uint16_t
using uint16_t = unsigned short;
#endif
#ifndef __DAMO_OWN_uint32_t
using uint32_t = unsigned int;
#endif
#ifndef __DAMO_OWN_uint64_t
using uint64_t = unsigned long;
#endif
#ifndef __DAMO_OWN_intptr_t
using intptr_t = long;
#endif
#ifndef __DAMO_OWN_uintptr_t
using uintptr_t = unsigned long;
#endif
#ifndef __DAMO_OWN_intmax_t
using intmax_t = long;
#endif
#ifndef __DAMO_OWN_uintmax_t
using uintmax_t = unsigned long;
#endif
#ifndef __DAMO_OWN_ssize_t
using ssize_t = long;
#endif
#ifndef __DAMO_OWN_uchar
using uchar = unsigned char;
#endif
#ifndef __DAMO_OWN_ushort
using ushort = unsigned short;
#endif
#ifndef __DAMO_OWN_uint
using uint = unsigned int;
#endif
#ifndef __DAMO_OWN_ulong
using ulong = unsigned long;
#endif
