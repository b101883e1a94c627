// einsum by nested loops in long double, written apart from the library's: for tests of products.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <damo/array.hpp>

namespace damo::testing {

struct EinsumReference {
  std::vector<double> values;     ///< in C order
  std::vector<double> magnitude;  ///< sums of the products' absolute values: what errors grow with
  std::vector<std::int64_t> shape;
  std::int64_t terms = 1;  ///< products that are added up
};

/// text: "ij,jk->ik", letters alone. Every extent of a letter is the same.
inline EinsumReference einsum_reference(const std::string& text, const std::vector<Array>& operands) {
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (char c : text.substr(0, arrow)) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  const std::string output = text.substr(arrow + 2);
  std::map<char, std::int64_t> extents;
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (int axis = 0; axis < operands[i].rank(); ++axis) extents[terms[i][static_cast<std::size_t>(axis)]] = operands[i].shape()[axis];
    values.push_back(operands[i].to_doubles());
  }
  std::string letters = output;
  EinsumReference result;
  std::int64_t size = 1;
  for (char c : output) {
    result.shape.push_back(extents[c]);
    size *= extents[c];
  }
  for (const auto& [letter, extent] : extents) {
    if (letters.find(letter) != std::string::npos) continue;
    letters += letter;
    result.terms *= extent;
  }
  std::vector<std::vector<std::int64_t>> strides(operands.size(), std::vector<std::int64_t>(letters.size(), 0));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::int64_t stride = 1;
    for (int axis = operands[i].rank(); axis-- > 0;) {
      strides[i][letters.find(terms[i][static_cast<std::size_t>(axis)])] += stride;
      stride *= operands[i].shape()[axis];
    }
  }
  std::vector<std::int64_t> index(letters.size(), 0), at(operands.size(), 0);
  for (std::int64_t place = 0; place < size; ++place) {
    long double sum = 0, magnitude = 0;
    for (std::int64_t term = 0; term < result.terms; ++term) {
      long double product = 1;
      for (std::size_t i = 0; i < operands.size(); ++i) product *= values[i][static_cast<std::size_t>(at[i])];
      sum += product;
      magnitude += std::fabs(product);
      for (std::size_t axis = letters.size(); axis-- > 0;) {  // the last letter is the fastest: summed ones first
        const std::int64_t extent = extents[letters[axis]];
        for (std::size_t i = 0; i < operands.size(); ++i) at[i] += strides[i][axis];
        if (++index[axis] < extent) break;
        index[axis] = 0;
        for (std::size_t i = 0; i < operands.size(); ++i) at[i] -= extent * strides[i][axis];
      }
    }
    result.values.push_back(static_cast<double>(sum));
    result.magnitude.push_back(static_cast<double>(magnitude));
  }
  return result;
}

}  // namespace damo::testing
