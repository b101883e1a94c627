// einsum for any World of values (products.hpp): diagonals, sums over axes that one operand alone has, then products of two.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/einsum.hpp"
#include "ops/products.hpp"

namespace damo {

template <class World>
class Einsum {
 public:
  using Value = typename World::Value;

  Einsum(World world, std::string_view text, std::vector<Value> operands, std::optional<DType> dtype) : products_(std::move(world), "einsum", dtype), text_(text) {
    products_.operands() = std::move(operands);
  }

  Value value() {
    std::vector<int> ranks;
    std::vector<DType> dtypes;
    for (const Value& v : products_.operands()) {
      ranks.push_back(products_.rank(v));
      dtypes.push_back(world().dtype_of(v));
    }
    if (ranks.empty()) products_.template refuse<GraphError>("there are no operands", "give one for each term");
    parse(ranks);
    find_extents();
    DType common = products_.common_of(dtypes);
    // One product takes 8-bit floats as they are; what is summed before it, or multiplied after it, is of the result's dtype.
    const bool has_float8 = std::any_of(dtypes.begin(), dtypes.end(), is_float8), stays = has_float8 && dtypes.size() == 2 && !sums_before();
    if (has_float8) common = products_.wanted();
    for (const Value& v : products_.operands()) values_.push_back(stays ? v : world().cast(v, common));
    for (std::size_t i = 0; i < values_.size(); ++i) take_diagonals(i);
    for (std::size_t i = 0; i < values_.size(); ++i) sum_own_axes(i);
    while (values_.size() > 1) {
      const auto [i, j] = cheapest_pair(terms_, extents_);
      multiply(i, j);
    }
    return products_.view(world().cast(values_[0], products_.wanted()), pattern(terms_.inputs[0], terms_.output));
  }

 private:
  World& world() { return products_.world(); }

  bool sums_before() const {
    for (std::size_t i = 0; i < terms_.inputs.size(); ++i) {
      if (std::any_of(terms_.inputs[i].begin(), terms_.inputs[i].end(), [&](int label) { return !is_kept(label, i, i); })) return true;
    }
    return false;
  }

  void parse(const std::vector<int>& ranks) {
    try {
      terms_ = parse_einsum(text_, ranks);
    } catch (const GraphError& error) {
      products_.template refuse<GraphError>(error.parts().message.substr(std::string("einsum: ").size()), error.parts().remedy);
    }
  }

  void find_extents() {
    constexpr std::int64_t kExpected = 1024;  // stands for an unknown extent
    extents_.assign(EinsumTerms::kEllipsis + kMaxRank, kUnknown);
    for (std::size_t i = 0; i < terms_.inputs.size(); ++i) {
      const Shape& dims = world().dims(products_.operands()[i]);
      for (int axis = 0; axis < dims.rank(); ++axis) {
        const int label = terms_.inputs[i][static_cast<std::size_t>(axis)];
        std::int64_t& extent = extents_[static_cast<std::size_t>(label)];
        const std::int64_t here = dims[axis];
        if (here == kUnknown || here == extent) continue;
        if (extent == kUnknown || (label >= EinsumTerms::kEllipsis && extent == 1)) extent = here;
        else if (!(label >= EinsumTerms::kEllipsis && here == 1)) {
          products_.template refuse<ShapeError>("axis " + einsum_label(label) + " has " + std::to_string(extent) + " elements in one operand and " + std::to_string(here) + " in operand " +
                                                    std::to_string(i), "axes of one letter have one extent");
        }
      }
    }
    for (std::int64_t& extent : extents_) extent = extent == kUnknown ? kExpected : extent;
  }

  void take_diagonals(std::size_t i) {
    std::vector<int>& term = terms_.inputs[i];
    for (std::size_t a = 0; a < term.size(); ++a) {
      for (std::size_t b = term.size(); --b > a;) {
        if (term[a] != term[b]) continue;
        values_[i] = world().diagonal(values_[i], static_cast<int>(a), static_cast<int>(b));
        term.erase(term.begin() + static_cast<std::ptrdiff_t>(b));
      }
    }
  }

  bool is_kept(int label, std::size_t i, std::size_t j) const {
    if (has(terms_.output, label)) return true;
    for (std::size_t k = 0; k < terms_.inputs.size(); ++k) {
      if (k != i && k != j && has(terms_.inputs[k], label)) return true;
    }
    return false;
  }
  static bool has(const std::vector<int>& term, int label) { return std::find(term.begin(), term.end(), label) != term.end(); }

  void sum_own_axes(std::size_t i) {
    std::uint32_t axes = 0;
    std::vector<int> left;
    for (std::size_t a = 0; a < terms_.inputs[i].size(); ++a) {
      if (is_kept(terms_.inputs[i][a], i, i)) left.push_back(terms_.inputs[i][a]);
      else axes |= 1u << a;
    }
    if (axes == 0) return;
    const DType wanted = products_.wanted(), wide = is_half(wanted) ? float32 : wanted;
    values_[i] = world().cast(world().sum(world().cast(values_[i], wide), axes), wanted);
    terms_.inputs[i] = std::move(left);
  }

  void multiply(std::size_t i, std::size_t j) {
    std::vector<int> batch, summed, rows, columns;
    for (int label : terms_.inputs[i]) {
      if (!has(terms_.inputs[j], label)) rows.push_back(label);
      else (is_kept(label, i, j) ? batch : summed).push_back(label);
    }
    for (int label : terms_.inputs[j]) {
      if (!has(terms_.inputs[i], label)) columns.push_back(label);
    }
    const auto joined = [](std::vector<int> a, const std::vector<int>& b, const std::vector<int>& c) {
      a.insert(a.end(), b.begin(), b.end());
      a.insert(a.end(), c.begin(), c.end());
      return a;
    };
    const Value x = products_.view(values_[i], pattern(terms_.inputs[i], joined(batch, rows, summed)));
    const Value y = products_.view(values_[j], pattern(terms_.inputs[j], joined(batch, summed, columns)));
    values_[i] = products_.contracted(x, y, static_cast<int>(batch.size()), static_cast<int>(summed.size()));
    terms_.inputs[i] = joined(batch, rows, columns);
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(j));
    terms_.inputs.erase(terms_.inputs.begin() + static_cast<std::ptrdiff_t>(j));
  }

  static std::vector<int> pattern(const std::vector<int>& from, const std::vector<int>& to) {
    std::vector<int> places;
    for (int label : to) places.push_back(static_cast<int>(std::find(from.begin(), from.end(), label) - from.begin()));
    return places;
  }

  Products<World> products_;
  std::string text_;
  EinsumTerms terms_;
  std::vector<std::int64_t> extents_;
  std::vector<Value> values_;
};

}  // namespace damo
