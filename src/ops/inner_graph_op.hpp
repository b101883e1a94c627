// InnerGraphOp: an op that runs graphs of its own: a loop's step, a choice's branches. The pass rewrite_inner_graphs puts what the passes make of
// them in their place, and their thunks run them in Contexts of their own.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <damo/graph.hpp>
#include <damo/op.hpp>

namespace damo {

class InnerGraphOp : public Op {
 public:
  bool takes_float8() const override { return true; }
  /// Where an op of its graphs may.
  bool may_refuse() const override;
  virtual std::vector<const FunctionGraph*> inner_graphs() const = 0;
  /// The same op over graphs that compute the same.
  virtual OpPtr with_graphs(std::vector<FunctionGraph> graphs) const = 0;
  // Two are equal when they are one.
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }
};

/// A graph's Applies in order, for inference of shapes at a call.
class InnerShapes {
 public:
  explicit InnerShapes(const FunctionGraph& graph);
  /// Of the graph's outputs; nullopt if one follows from data. Throws ShapeError as the ops do, with their lines.
  Shapes operator()(std::span<const Shape> inputs) const;

 private:
  struct Node {
    Apply apply;
    std::vector<int> inputs, outputs;
  };
  std::vector<Node> nodes_;
  std::vector<int> inputs_, outputs_;
  std::vector<std::pair<int, Shape>> constants_;
  std::size_t values_ = 0;
};

}  // namespace damo
