// Ordinals: stands in a generated kernel where another input has a pointer, and gives the offset itself for the element there. An
// array in C order whose elements are their own numbers, without memory: whatever the layout of the kernel's other arrays,
// strides, tiles and vectors lead to the element's number. Text of generated kernels on every back end; its bytes are those of a pointer,
// which a launch leaves 0. See KernelSpec::ordinals.
#pragma once

namespace damo {

struct Ordinals {
  u64 first;

  DAMO_MEMBER Ordinals operator+(i64 n) const { return Ordinals{first + u64(n)}; }
  DAMO_MEMBER i64 operator[](i64 n) const { return i64(first + u64(n)); }
  DAMO_MEMBER i64 operator*() const { return i64(first); }
  // The k-th of Count neighbours, a power of 2, of which the first is a multiple of Count: the compiler then knows the number's last digits, and computes once what the neighbours share, as a block of Philox.
  template <int Count>
  DAMO_MEMBER i64 among(int k) const {
    return i64((first & ~u64(Count - 1)) | u64(k));
  }
};

}  // namespace damo
