// The text of an ElementwiseKernel: CUDA C, one thread an element, on a GPU and on the CPU.
#pragma once
#include <string>
#include <vector>

#include <damo/graph_lists.hpp>
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
  SmallList<char, 8> dense;  ///< array by array: a pointer; else the address of element i, made from its strides
  /// Neighbouring elements a thread. More than 1: all arrays are dense, aligned to that many elements, and outputs
  /// share memory with nothing, so that the compiler joins loads and stores to vectors.
  int width = 1;
};

inline constexpr int kSnippetBlock = 256;
inline constexpr int kVectorBytes = 16;  ///< the widest access of a GPU's thread

/// The kernel takes one struct with eight bytes a member: parameters, n, extents, strides of the strided arrays.
std::string elementwise_text(const ElementwiseSnippet& snippet, const SnippetLayout& layout);

}  // namespace damo
