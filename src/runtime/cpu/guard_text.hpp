// How a generated kernel for the CPU looks at what it stores in guarded outputs (KernelSpec::guarded): the greatest bits of what was stored, without the sign's, are a variable for
// each dtype, which is asked behind all loops. So loops have no branch more and vectorise as without. Of strips that are stored past the caches the variable is a vector, so that
// short loops over them don't end in a reduction each.
#pragma once
#include <string>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

class CpuGuardText {
 public:
  explicit CpuGuardText(const KernelSpec& spec);

  /// What the other statements call. All of these are empty if nothing is guarded.
  const std::string& functions() const { return functions_; }
  /// The variables. has_strips: take_strip is used too.
  std::string declarations(bool has_strips = false) const;
  /// " guard_take(most_float, y0);": takes in what is stored in an output; empty of one that is not guarded. stored: a variable of the storage type.
  std::string take(int output, const std::string& stored) const;
  /// The same of a strip, an array of kCpuTile elements that begins a line of the cache.
  std::string take_strip(int output, const std::string& strip) const;
  /// Writes the flag of that name if something was not finite.
  std::string tell(const std::string& flag, bool has_strips = false) const;

 private:
  const KernelSpec& spec_;
  std::vector<DType> dtypes_;  // of guarded outputs, each once
  std::string functions_;
};

}  // namespace damo
