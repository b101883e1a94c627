// FourierEngine: discrete Fourier transforms on one kind of device: cuFFT on a GPU, Damo's own on the CPU. Made at the first use (FourierLibrary). Nothing is
// scaled. ops/fourier says what Damo makes of it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <damo/dtype.hpp>

#include "runtime/backend.hpp"

namespace damo {

enum class FourierKind : std::uint8_t { kComplex, kRealToComplex, kComplexToReal };

/// Of `count` arrays one after another, in C order: over `rank` axes of real numbers, or of pairs of a real and an imaginary part. The last axis of what is real on the other
/// side has extents[rank - 1] / 2 + 1 pairs, the first half of a spectrum, whose other half is its mirror image's conjugate.
struct FourierTransform {
  static constexpr int kMostAxes = 3;
  FourierKind kind = FourierKind::kComplex;
  bool inverse = false;  ///< of kComplex: exp(+2 pi i j k / n); real results are always so, complex ones of real numbers never
  DType dtype = float32;  ///< or float64
  int rank = 1;           ///< 1 where the result is real
  std::array<std::int64_t, kMostAxes> extents{1, 1, 1};
  std::int64_t count = 1;
  friend auto operator<=>(const FourierTransform&, const FourierTransform&) = default;

  std::int64_t extent() const { return extents[static_cast<std::size_t>(rank - 1)]; }
  /// Pairs on the last axis.
  std::int64_t pairs() const { return kind == FourierKind::kComplex ? extent() : extent() / 2 + 1; }
};

class FourierEngine {
 public:
  virtual ~FourierEngine() = default;
  /// "cuFFT 12.0.0, libcufft.so", "Damo".
  virtual const std::string& name() const = 0;
  /// In order of the default stream. from, whose numbers of what becomes real have imaginary parts of 0 where they are their own mirror images, is lost where the result is
  /// real; else it may be to. No extent is 0. DeviceError for extents beyond 32 bits, and what the library reports.
  virtual void run(const FourierTransform& transform, void* from, void* to) = 0;
  /// What a run takes of the device's memory (workspace.hpp) for itself.
  virtual std::size_t workspace_bytes(const FourierTransform&) { return 0; }
};

class FourierLibrary final : public Companion {
 public:
  explicit FourierLibrary(Backend& backend) : engine_(backend.make_fourier_engine()) {}
  /// Throws DeviceError, saying what to install, where there is no library.
  static std::shared_ptr<FourierLibrary> of(Backend& backend) { return backend.companion<FourierLibrary>(); }
  FourierEngine& engine() { return *engine_; }

 private:
  std::unique_ptr<FourierEngine> engine_;
};

}  // namespace damo
