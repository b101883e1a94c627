// einsum's text, and the order in which its operands are multiplied.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <damo/shape.hpp>

namespace damo {

/// "ij,jk->ik" with each axis as a number: that of its letter, or from kEllipsis on, counted from the right, what "..." stands for.
struct EinsumTerms {
  static constexpr int kEllipsis = 256;
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};

/// For operands of these ranks. Throws GraphError, beginning with "einsum".
EinsumTerms parse_einsum(std::string_view text, std::span<const int> ranks);

/// The two whose product costs least: the fewest multiplications, then the smallest result. extents: by axis number.
std::pair<std::size_t, std::size_t> cheapest_pair(const EinsumTerms& terms, const std::vector<std::int64_t>& extents);

/// The letter of an axis number, "..." for those of an ellipsis.
std::string einsum_label(int axis);

}  // namespace damo
