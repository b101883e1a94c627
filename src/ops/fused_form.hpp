// FusedForm: what fused groups have in common that differ in their numbers and in the user's lines alone: their kernel. A long chain, a large tree or
// equal layers are thousands of groups of few forms; each form is lowered, printed, hashed and compiled once.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include <damo/graph.hpp>
#include "graph/base/hash_index.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

class FusedForm {
 public:
  /// values: of the inputs, those that each launch brings (KernelSpec::values).
  explicit FusedForm(std::vector<Use> arguments, std::vector<bool> values = {}, std::vector<bool> guarded = {}) : arguments_(std::move(arguments)), values_(std::move(values)), guarded_(std::move(guarded)) {}
  /// The same but for the outputs that its kernel guards (KernelSpec::guarded).
  std::shared_ptr<FusedForm> with_guards(std::vector<bool> guarded) const { return std::make_shared<FusedForm>(arguments_, values_, std::move(guarded)); }
  const std::vector<bool>& guarded() const { return guarded_; }
  /// Lowered from the first graph of this form that asks; the others have the same but for its numbers.
  std::shared_ptr<const KernelSpec> spec(const FunctionGraph& inner);
  /// The outputs' shapes for inputs of these, which are those of every graph of this form: infer() is asked where the last ones were others.
  std::vector<Shape> shapes(std::span<const Shape> inputs, const std::function<std::vector<Shape>()>& infer);
  /// Those of one graph of this form, in the order of KernelSpec::numbers.
  std::vector<Scalar> numbers(const FunctionGraph& inner) const;

 private:
  std::vector<Use> arguments_;
  std::vector<bool> values_, guarded_;
  std::once_flag lowered_;
  std::shared_ptr<const KernelSpec> spec_;
  std::mutex mutex_;
  std::vector<Shape> last_inputs_, last_outputs_;  // no outputs: nothing was inferred yet
};

/// The forms met so far. Two graphs have one form if their nodes, in order, have equal ops, types and inputs, numbers that are arguments
/// being alike and all others equal, and launches bring the same inputs. Cost: linear in the graph.
class FusedForms {
 public:
  std::shared_ptr<FusedForm> of(const FunctionGraph& inner, std::vector<bool> values = {});

 private:
  struct Form {
    std::vector<std::int64_t> words;
    std::shared_ptr<FusedForm> form;
  };
  int number_of(const OpPtr& op);
  void add_type(const TensorType& type);

  HashIndex op_index_{64}, form_index_{64};
  std::unordered_map<const Op*, int> known_ops_;
  std::vector<OpPtr> ops_;
  std::vector<Form> forms_;
  std::vector<std::int64_t> words_;  // of the graph at hand
};

}  // namespace damo
