// FourierForm: a transform over the last axes, as ops and Arrays have it, by a FourierEngine (runtime/library/fourier.hpp). Not scaled.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <damo/array.hpp>
#include "ops/sort/radix_sort.hpp"
#include "runtime/library/fourier.hpp"

namespace damo {

struct FourierForm {
  FourierKind kind = FourierKind::kComplex;
  bool inverse = false;       ///< of kComplex
  int rank = 1;               ///< axes: the last ones, before the pairs'
  /// Whether a pair of a half spectrum that stands for its mirror image too counts once, not twice. Where x is real: it is twice what it was. Each way is the
  /// other one's gradient.
  bool reversed = false;
  std::int64_t extent = -1;   ///< of what becomes real; -1: twice the pairs, less 2

  /// Of x's; extents may be unknown. Throws ShapeError, in whose name user says.
  Shape shape(const std::string& user, const Shape& x) const;
};

/// The kernel that weighs half spectra: what lies between the first and the last pair times a factor; imaginary parts of these two become 0.
class HalfSpectrum {
 public:
  HalfSpectrum(const CompileKernel& compile, DType dtype);
  void operator()(const Array& from, const Array& to, std::int64_t extent, double factor) const;

 private:
  Kernel kernel_;
  DType dtype_;
};
/// Whether transform() needs one.
bool weighs(const FourierForm& form);
/// x, out: float32 or float64, in C order.
void transform(const FourierForm& form, const HalfSpectrum* half, const Array& x, const Array& out);
/// What that takes of the device's memory for itself.
std::size_t transform_bytes(Backend& backend, const FourierForm& form, DType dtype, const Shape& x, const Shape& out);

}  // namespace damo
