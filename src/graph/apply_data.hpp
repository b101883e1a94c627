// What Variable and Apply share: one node, or one input, constant or shared variable (a node without op). Counted intrusively; the last
// release walks down iteratively.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <damo/op.hpp>
#include <damo/variable.hpp>

namespace damo {

struct ApplyData {
  std::atomic<std::int64_t> shares = 0;
  OpPtr op;  // null: an input, a constant or a shared variable
  std::vector<Variable> inputs;
  std::vector<std::shared_ptr<const TensorType>> types;  // of the outputs; mostly an input's
  std::vector<std::string> names;  // of the outputs; empty until one is named
  ConstantPtr constant;
  SharedPtr shared;
  SourceLine where;
  ApplyData* next_dead = nullptr;  // of those that release() is about to delete: it needs no memory for their list

  static ApplyData* of(const Variable& variable) { return variable.data_; }
  static Variable output(ApplyData* data, int index) { return Variable(data, index); }
  /// Drops one share; deletes what nobody holds any more, without recursion.
  static void release(ApplyData* data) noexcept;
};

}  // namespace damo
