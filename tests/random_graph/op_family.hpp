// Ops of one kind in random graphs: sorting, indexing, loops, ... A family says how its nodes are drawn, which types they give, and what they should give,
// computed apart from Damo. Its ops are built by the template NAME_node of NAME_ops.hpp, of Variables and of Arrays alike, which a printed program carries with it.
#pragma once
#include <functional>
#include <optional>
#include <random>

#include "graph_spec.hpp"
#include "reference.hpp"

namespace damo::testing {

constexpr int kSizedSymbols = 1000;  // and above: what data decides, by node; may be 0
constexpr int kFreshSymbols = 2000;  // and above: what follows from other extents, kFreshOfANode for each node; at least 1 where they are
constexpr int kFreshOfANode = 8;

/// Symbols that a node may give to axes of its outputs.
struct NewSymbols {
  int node;
  int sized() const { return kSizedSymbols + node; }
  int fresh(int i = 0) const { return kFreshSymbols + kFreshOfANode * node + i; }
};

/// Throws std::logic_error: no such node.
inline void demand(bool holds) {
  if (!holds) throw std::logic_error("the node takes other operands");
}

/// A graph that some call's extents make wrong: a window beyond what it looks at, the greatest of nothing. Nothing is expected of it.
struct NoGraph : std::logic_error {
  NoGraph() : std::logic_error("some extent does not fit") {}
};
inline void demand_extents(bool holds) {
  if (!holds) throw NoGraph();
}

/// What a family draws a node from.
class Draw {
 public:
  Draw(std::mt19937_64& random, const std::vector<ValueType>& values, std::function<std::int64_t(int)> extent) : random_(random), values_(values), extent_(std::move(extent)) {}

  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  int number(int low, int high) { return low + static_cast<int>(pick(static_cast<std::size_t>(high - low + 1))); }
  const ValueType& type(int value) const { return values_[static_cast<std::size_t>(value)]; }
  int rank(int value) const { return static_cast<int>(type(value).dims.size()); }
  /// At most, in any call.
  std::int64_t size(const Dims& dims) const {
    std::int64_t product = 1;
    for (int symbol : dims) product *= std::max<std::int64_t>(extent_(symbol), 1);
    return product;
  }
  std::int64_t size(int value) const { return size(type(value).dims); }
  std::int64_t extent(int symbol) const { return extent_(symbol); }

  // What the family says of the node that it drew: a node that is too large is none.
  std::int64_t result_size = 0;       ///< elements that it may give, or products that it takes
  std::vector<std::int64_t> bounds;   ///< of the extents of fresh symbols

  /// One of the last values that fit; nothing if there is none.
  template <class Fits>
  std::optional<int> find(Fits fits) {
    std::vector<int> found;
    for (int value = static_cast<int>(values_.size()); value-- > 0 && found.size() < 6;) {
      if (fits(type(value))) found.push_back(value);
    }
    if (found.empty()) return {};
    return found[pick(found.size())];
  }
  /// Of the same type; perhaps the value itself.
  int twin(int value) {
    const ValueType& like = type(value);
    return *find([&](const ValueType& other) { return other.dtype == like.dtype && other.dims == like.dims; });
  }

 private:
  std::mt19937_64& random_;
  const std::vector<ValueType>& values_;
  std::function<std::int64_t(int)> extent_;
};

template <class T>
using NodeBuilder = std::vector<T> (*)(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers);

struct OpFamily {
  std::string name;
  std::optional<NodeSpec> (*draw)(Draw& draw);  ///< name, operands, pattern, outputs
  std::vector<ValueType> (*types)(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols& symbols);
  NodeBuilder<Variable> build;
  NodeBuilder<Array> eager;                     ///< gives nothing where Arrays have no such op
  /// dtypes: of the results.
  std::vector<Tensor> (*reference)(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes);
};

extern const OpFamily sorting_family, indexing_family, shapes_family, windows_family, products_family, norms_family, loops_family, draws_family, factors_family, fourier_family, users_family,
    statistics_family, creation_family, matrices_family, signals_family, attention_family, derivatives_family, spaces_family;

/// All of them.
const std::vector<const OpFamily*>& op_families();
/// Throws std::logic_error if there is none of that name.
const OpFamily& op_family(const std::string& name);

}  // namespace damo::testing
