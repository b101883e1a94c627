// Dialect: prints a KernelSpec as source for one kind of target and says how to launch it. Deterministic: the same spec
// and layout give the same bytes, on which the kernel cache rests. Golden texts: tests/golden/.
#pragma once
#include <string>
#include <string_view>

#include <damo/kernel.hpp>
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view name() const = 0;
  /// The layout with what this target does not tell apart made equal.
  virtual Layout adapt(const KernelSpec&, Layout layout) const { return layout; }
  /// One extern "C" kernel named entry_name(spec), taking one struct (ArgumentBlock) by value.
  virtual std::string emit(const KernelSpec& spec, const Layout& layout) const = 0;
  virtual LaunchConfig launch(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) const = 0;
  /// Elements that one vector access moves; arrays must be aligned to that many for the fast path.
  virtual int vector_width(const KernelSpec& spec) const = 0;
  /// Whether arrays of so many bytes together are better stored past the caches.
  virtual bool streams(std::size_t) const { return false; }
};

/// "damo_mul_add_tanh".
std::string entry_name(const KernelSpec& spec);

}  // namespace damo
