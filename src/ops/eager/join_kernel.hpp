// JoinKernel: a JoinSpec with its kernels on each device (EagerKernels), and what a call of it is given.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>

#include "ops/eager/join_spec.hpp"
#include "ops/eager/snippet.hpp"

namespace damo {

class JoinKernel {
 public:
  JoinKernel(JoinDefinition definition, Prefix prefix);

  const KernelSpec& spec() const { return made_.spec; }
  const JoinSpec& made() const { return made_; }
  /// Throws GraphError for a kernel of several results.
  void require_one_result() const;
  /// Throws as SnippetArguments.
  SnippetArguments take(std::span<const ArrayOperand> given) const { return SnippetArguments(spec().name, made_.parameters, given); }
  /// Along the axes of `space`, to which the arrays broadcast. outs: all of one shape. An array that is one of outs is not read at other places than i.
  void run(const SnippetArguments& arguments, std::span<const Array> outs, const Shape& space, std::uint32_t axes) const;

 private:
  JoinSpec made_;
  std::uint32_t number_;  // among the device's kernels
};

}  // namespace damo
