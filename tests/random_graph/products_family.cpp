#include "products_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "op_family.hpp"

namespace damo::testing {
namespace {

constexpr const char* kProducts[] = {"vdot", "outer", "matmul", "matmul_turned", "matmul_turned", "matmul_broadcast", "tensordot", "ij,ij->i", "ij,ij->j", "ij,kj->ki", "i,j->ji", "ijk,ijl->ikl", "ij,ij,ij->j3", "ij,kj,kj->i3"};

/// The product as einsum writes it.
std::string letters_of(const NodeSpec& node, std::size_t rank) {
  static const std::string all = "abcdefg";
  const std::string x = all.substr(0, rank);
  if (node.name == "vdot") return x + "," + x + "->";
  if (node.name == "outer") return "a,b->ab";
  if (node.name == "matmul") {  // square matrices
    std::string y = x, out = x;
    y[rank - 2] = x[rank - 1], y[rank - 1] = 'z', out[rank - 1] = 'z';
    return x + "," + y + "->" + out;
  }
  if (node.name == "matmul_turned") {
    std::string y = x, out = x;
    y[rank - 2] = 'z', out[rank - 1] = 'z';
    return x + "," + y + "->" + out;
  }
  if (node.name == "matmul_broadcast") {
    std::string y = x, out = x;
    y[rank - 1] = 'z', out[rank - 2] = x[rank - 1], out[rank - 1] = 'z';
    return x + "," + y + "->" + out;
  }
  if (node.name == "tensordot") {
    const std::size_t own = rank - static_cast<std::size_t>(node.pattern[0]);
    std::string y = x;
    for (std::size_t i = 0; i < own; ++i) y[i] = static_cast<char>('p' + i);
    return x + "," + y + "->" + x.substr(0, own) + y.substr(0, own);
  }
  return node.name.ends_with("3") ? node.name.substr(0, node.name.size() - 1) : node.name;
}

struct Terms {
  std::vector<std::string> operands;
  std::string result;
};
Terms terms_of(const std::string& text) {
  Terms terms{{""}, text.substr(text.find("->") + 2)};
  for (char c : text.substr(0, text.find("->"))) {
    if (c == ',') terms.operands.emplace_back();
    else terms.operands.back() += c;
  }
  return terms;
}

/// The symbol of each letter; logic_error where two differ.
std::map<char, int> symbols_of(const Terms& terms, const std::vector<ValueType>& in) {
  std::map<char, int> symbols;
  demand(terms.operands.size() == in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    demand(terms.operands[i].size() == in[i].dims.size());
    for (std::size_t axis = 0; axis < in[i].dims.size(); ++axis) demand(symbols.try_emplace(terms.operands[i][axis], in[i].dims[axis]).first->second == in[i].dims[axis]);
  }
  return symbols;
}

bool rank_fits(const std::string& name, std::size_t rank) {
  if (name == "vdot") return rank > 0 && rank < 5;
  if (name == "outer" || name == "i,j->ji") return rank == 1;
  if (name == "matmul_broadcast") return rank >= 2 && rank < 5;
  if (name.starts_with("matmul")) return rank >= 2;
  if (name == "tensordot") return rank >= 1 && rank < 4;
  return rank == name.find(',');
}

std::vector<ValueType> product_types(const NodeSpec& node, const std::vector<ValueType>& in, const NewSymbols&) {
  demand(rank_fits(node.name, in.at(0).dims.size()) && in.at(0).dtype != bool_);
  const Terms terms = terms_of(letters_of(node, in[0].dims.size()));
  const std::map<char, int> symbols = symbols_of(terms, in);
  for (const ValueType& value : in) demand(value.dtype == in[0].dtype && (in.size() < 3 || !is_half(value.dtype)));
  ValueType result{in[0].dtype, {}};
  if (node.name == "matmul_broadcast") result.dims.push_back(kOne);
  for (char letter : terms.result) result.dims.push_back(symbols.at(letter));
  demand(result.dims.size() < 7);
  return {result};
}

std::optional<NodeSpec> draw_product(Draw& draw) {
  NodeSpec node{.kind = NodeSpec::Kind::kFamily, .family = "products", .name = kProducts[draw.pick(std::size(kProducts))], .operands = {}, .pattern = {0}};
  const std::optional<int> x = draw.find([&](const ValueType& type) { return rank_fits(node.name, type.dims.size()) && type.dtype != bool_; });
  if (!x) return {};
  const std::size_t rank = draw.type(*x).dims.size();
  if (node.name == "tensordot") node.pattern[0] = draw.number(0, static_cast<int>(rank));
  node.operands = {*x, draw.twin(*x)};
  if (node.name.ends_with("3")) node.operands.push_back(draw.twin(*x));
  const Terms terms = terms_of(letters_of(node, rank));
  if (const std::optional<int> y = draw.find([&](const ValueType& type) {  // other axes than x has, where letters allow it
        return type.dtype == draw.type(*x).dtype && terms.operands[1].size() == type.dims.size() && !node.name.starts_with("vdot") && draw.pick(2) == 0;
      })) {
    const int own = node.operands[1];
    node.operands[1] = *y;
    try {
      std::vector<ValueType> types;
      for (int operand : node.operands) types.push_back(draw.type(operand));
      symbols_of(terms, types);
    } catch (const std::logic_error&) {
      node.operands[1] = own;
    }
  }
  std::vector<ValueType> types;
  for (int operand : node.operands) types.push_back(draw.type(operand));
  try {
    Dims all;
    for (const auto& [letter, symbol] : symbols_of(terms, types)) all.push_back(symbol);
    draw.result_size = draw.size(all) / 10;
  } catch (const std::logic_error&) {
    return {};
  }
  return node;
}

std::vector<Tensor> product_reference(const NodeSpec& node, const std::vector<Tensor>& in, const std::vector<DType>& dtypes) {
  const Terms terms = terms_of(letters_of(node, static_cast<std::size_t>(in[0].shape.rank())));
  const DType kept = is_half(dtypes[0]) ? float32 : dtypes[0];
  std::string letters = terms.result;
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t axis = 0; axis < terms.operands[i].size(); ++axis) {
      const char letter = terms.operands[i][axis];
      extents[letter] = in[i].shape[static_cast<int>(axis)];
      if (letters.find(letter) == std::string::npos) letters += letter;
    }
  }
  Tensor result{kept, {}, {}};
  if (node.name == "matmul_broadcast") result.shape.push_back(1);
  for (char letter : terms.result) result.shape.push_back(extents.at(letter));
  std::int64_t inner = 1;
  for (std::size_t i = terms.result.size(); i < letters.size(); ++i) inner *= extents.at(letters[i]);
  for (std::int64_t outer = 0; outer < result.shape.size(); ++outer) {
    std::vector<Element> row;
    for (std::int64_t k = 0; k < inner; ++k) {
      std::map<char, std::int64_t> at;
      std::int64_t rest = outer * inner + k;
      for (std::size_t i = letters.size(); i-- > 0;) at[letters[i]] = rest % extents.at(letters[i]), rest /= extents.at(letters[i]);
      Element product{1, 0};
      for (std::size_t i = 0; i < in.size(); ++i) {
        std::int64_t offset = 0;
        for (char letter : terms.operands[i]) offset = offset * extents.at(letter) + at.at(letter);
        const Element factor = in[i].elements[static_cast<std::size_t>(offset)];
        product = i == 0 ? factor : product_of(product, factor, kept);
      }
      row.push_back(product);
    }
    // Of three operands two may be added up first: an infinity times a sum, not a sum of infinities.
    const bool is_finite = std::all_of(row.begin(), row.end(), [](const Element& x) { return std::isfinite(x.value); });
    result.elements.push_back(in.size() > 2 && !is_finite ? Element{0, std::numeric_limits<Wide>::infinity()} : sum_of(row, kept, false));
  }
  return {cast_tensor(result, dtypes[0])};
}

}  // namespace

const OpFamily products_family{"products", draw_product, product_types, products_node<Variable>, products_node<Array>, product_reference};

}  // namespace damo::testing
