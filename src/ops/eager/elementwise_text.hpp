// The text of an ElementwiseKernel: CUDA C, one thread an element, on a GPU and on the CPU.
#pragma once
#include <string>
#include <vector>

#include <damo/source_text.hpp>

#include "ops/raw_parameter.hpp"

namespace damo {

struct ElementwiseSnippet {
  std::string name;
  std::vector<RawParameter> parameters;
  SourceText operation, preamble;
};

/// What the text is specialised on: no extent.
struct SnippetLayout {
  int rank = 0;             ///< of the space that strided arrays share; 0: none is strided, or there is one element
  bool wide = false;        ///< positions need 64 bits: a grid-stride loop
  std::vector<bool> dense;  ///< array by array: a pointer; else the address of element i, made from its strides
};

inline constexpr int kSnippetBlock = 256;

/// The kernel takes one struct with eight bytes a member: parameters, n, extents, strides of the strided arrays.
std::string elementwise_text(const ElementwiseSnippet& snippet, const SnippetLayout& layout);

}  // namespace damo
