#include "graph_spec.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <span>
#include <stdexcept>

#include "op_family.hpp"
#include "reference.hpp"
#include "ops/rows.hpp"

namespace damo::testing {
namespace {

constexpr std::int64_t kMostElements = 200000;  // of a value: the reference takes 0.2 us for one
constexpr std::int64_t kSmallSpace = 3000, kLargeSpace = 150000;  // elements of what all symbols span together

std::mt19937_64 generator(std::uint64_t seed) { return std::mt19937_64(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du); }

DType row_result(const ElementwiseRow& row, const std::vector<DType>& operands) {
  const std::span promoted = std::span(operands).subspan(row.condition_first ? 1 : 0);
  if (std::any_of(promoted.begin(), promoted.end(), is_float8)) demand(row.moves && std::all_of(promoted.begin(), promoted.end(), [&](DType dtype) { return dtype == promoted[0]; }));
  const DType common = common_dtype(row, operands);
  if (static_cast<int>(operands.size()) != arity(row) || !takes(row, common) || (row.condition_first && operands[0] != bool_)) {
    throw std::logic_error("the row takes other operands");
  }
  return result_of(row, common);
}

DType raw_dtype(const std::string& name) { return name == "raw_mix" || name == "raw_into" ? float32 : int32; }

/// Whether a node takes 8-bit floats as operands: it moves elements, converts or multiplies them. Rows say so themselves.
bool takes_float8(const NodeSpec& node, const std::vector<ValueType>& in) {
  static const std::set<std::string> kShapes = {"slice", "flip", "concatenate", "stack", "flatten", "repeat", "tile", "pad", "tril", "triu", "diagonal", "squeeze",
                                                "split", "transpose", "broadcast_to", "reshape", "specify_shape", "observed", "set_slice"};
  static const std::set<std::string> kIndexing = {"take", "picked", "set_picked", "masked", "along"};  // the other operands are made positions by arithmetic
  switch (node.kind) {
    case NodeSpec::Kind::kRow:
    case NodeSpec::Kind::kCast:
    case NodeSpec::Kind::kDimshuffle:
    case NodeSpec::Kind::kContiguous:
    case NodeSpec::Kind::kBackwards:
    case NodeSpec::Kind::kCopied:
    case NodeSpec::Kind::kHead:
      return true;
    case NodeSpec::Kind::kDot:
      return is_float8(in[0].dtype) && is_float8(in[1].dtype);
    case NodeSpec::Kind::kFamily:
      if (node.family == "shapes") return kShapes.contains(node.name);
      return node.family == "indexing" && kIndexing.contains(node.name) && std::none_of(in.begin() + 1, in.end(), [](const ValueType& value) { return is_float8(value.dtype); });
    default:
      return false;
  }
}

std::vector<ValueType> node_types(const NodeSpec& node, int number, const std::vector<ValueType>& values) {
  std::vector<ValueType> in;
  for (int operand : node.operands) {
    demand(operand >= 0 && static_cast<std::size_t>(operand) < values.size());
    in.push_back(values[static_cast<std::size_t>(operand)]);
  }
  if (std::any_of(in.begin(), in.end(), [](const ValueType& value) { return is_float8(value.dtype); })) demand(takes_float8(node, in));
  switch (node.kind) {
    case NodeSpec::Kind::kRow: {
      std::vector<DType> dtypes;
      std::vector<Dims> dims;
      for (const ValueType& value : in) dtypes.push_back(value.dtype), dims.push_back(value.dims);
      ValueType result{row_result(*find_elementwise(node.name), dtypes), {}};
      demand(broadcast(dims, result.dims));
      return {result};
    }
    case NodeSpec::Kind::kCast:
      return {{node.dtype, in.at(0).dims}};
    case NodeSpec::Kind::kConstant:
      return {{node.dtype, {}}};
    case NodeSpec::Kind::kDimshuffle: {
      ValueType result{in.at(0).dtype, {}};
      std::vector<char> kept(in[0].dims.size(), 0);
      for (int axis : node.pattern) {
        demand(axis < static_cast<int>(kept.size()) && (axis < 0 || !kept[static_cast<std::size_t>(axis)]));
        result.dims.push_back(axis < 0 ? kOne : in[0].dims[static_cast<std::size_t>(axis)]);
        if (axis >= 0) kept[static_cast<std::size_t>(axis)] = 1;
      }
      for (std::size_t axis = 0; axis < kept.size(); ++axis) demand(kept[axis] || in[0].dims[axis] == kOne);
      return {result};
    }
    case NodeSpec::Kind::kBackwards:
    case NodeSpec::Kind::kBackwardsInto:
      demand(!in.at(0).dims.empty());
      return {in[0]};
    case NodeSpec::Kind::kParts:
      demand(!node.pattern.empty() && node.pattern[0] < static_cast<int>(in.at(0).dims.size()) && in[0].dims[static_cast<std::size_t>(node.pattern[0])] != kOne);
      demand(node.name != "add_number" || in[0].dtype != bool_);
      return {in[0]};
    case NodeSpec::Kind::kContiguous:
    case NodeSpec::Kind::kCopied:
      return {in.at(0)};
    case NodeSpec::Kind::kHead: {
      demand(!in.at(0).dims.empty() && in.at(1).dtype == int32 && in[1].dims.empty());
      ValueType result = in[0];
      result.dims[0] = NewSymbols{number}.sized();
      return {result};
    }
    case NodeSpec::Kind::kReduce: {
      const bool place = node.name.starts_with("arg"), truth = node.name == "any" || node.name == "all";
      const DType x = in.at(0).dtype, sums = is_floating(x) ? x : x == bool_ || is_signed(x) ? int64 : uint64;
      ValueType result{place ? int64 : truth ? bool_ : node.name == "mean" && !is_floating(x) ? float64 : node.name == "max" || node.name == "min" ? x : sums, {}};
      std::vector<char> reduced(in[0].dims.size(), 0);
      for (int axis : node.pattern) {
        demand(axis >= 0 && axis < static_cast<int>(reduced.size()) && !reduced[static_cast<std::size_t>(axis)]);
        reduced[static_cast<std::size_t>(axis)] = 1;
      }
      for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
        const int symbol = in[0].dims[axis];
        demand(symbol < kSizedSymbols || symbol >= kFreshSymbols);  // the others may be 0, of which there is no maximum
        if (!reduced[axis]) result.dims.push_back(symbol);
        else if (node.number != 0) result.dims.push_back(kOne);
      }
      return {result};
    }
    case NodeSpec::Kind::kScan: {  // number: 2 if it goes backwards, 1 if without an element's own
      const DType x = in.at(0).dtype, sums = is_floating(x) ? x : x == bool_ || is_signed(x) ? int64 : uint64;
      demand(node.pattern.at(0) >= 0 && static_cast<std::size_t>(node.pattern[0]) < in[0].dims.size());
      return {{node.name == "cumsum" || node.name == "cumprod" ? sums : x, in[0].dims}};
    }
    case NodeSpec::Kind::kDot: {
      const Dims &x = in.at(0).dims, &y = in.at(1).dims;
      const DType dtype = is_float8(in[0].dtype) ? float32 : promote(in[0].dtype, in[1].dtype);
      demand(!x.empty() && !y.empty() && x.size() + y.size() < 8 && dtype != bool_);
      const std::size_t summed = y.size() > 1 ? y.size() - 2 : 0;
      demand(x.back() == y[summed]);
      ValueType result{dtype, {x.begin(), x.end() - 1}};
      for (std::size_t axis = 0; axis < y.size(); ++axis) {
        if (axis != summed) result.dims.push_back(y[axis]);
      }
      return {result};
    }
    case NodeSpec::Kind::kFamily: {
      std::vector<ValueType> results = op_family(node.family).types(node, in, NewSymbols{number});
      demand(static_cast<int>(results.size()) == node.outputs);
      return results;
    }
    case NodeSpec::Kind::kRaw:
      for (const ValueType& value : in) demand(value.dtype == raw_dtype(node.name) && value.dims == in[0].dims);
      demand(node.name != "raw_strided" || in[0].dims.size() == 1);
      return std::vector<ValueType>(static_cast<std::size_t>(node.output_count()), in[0]);
  }
  throw std::logic_error("unknown node");
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(generator(seed)) {
    const std::vector<const OpFamily*>& families = op_families();
    const std::uint64_t drawn = generator(~seed)();
    if (drawn % 5 < 2) families_ = {families[drawn / 5 % families.size()]};
    else if (drawn % 5 == 2) families_ = families;
    graph_.differentiates = (drawn >> 32) % 8 == 0;
    graph_.recomputes = (drawn >> 36) % 2 == 0;
    graph_.updates = (drawn >> 40) % 8 == 0;
    graph_.donates = (drawn >> 44) % 8 == 0;
    has_sinks_ = (drawn >> 48) % 8 == 0;
    if ((drawn >> 52) % 16 == 0) draw_large(drawn >> 56);
  }

  GraphSpec draw() {
    const std::size_t palette = 1 + pick(3);
    for (std::size_t i = 0; i < palette; ++i) dtypes_.push_back(pick(3) == 0 ? float32 : kAllDTypes[pick(std::size(kAllDTypes))]);
    if (graph_.differentiates && !families_.empty()) dtypes_ = {pick(2) == 0 ? float32 : float64};  // 16-bit floats have no gradient that is looked at
    if (pick(8) == 0) overwrites_ = true, dtypes_ = {pick(2) == 0 ? float32 : int32};
    draw_symbols();
    for (std::size_t i = 0, count = 1 + pick(4); i < count; ++i) add_input();
    if (pick(8) == 0) {
      graph_.inputs.push_back({.dtype = int32, .dims = {}, .known = {}, .seed = static_cast<unsigned>(random_()), .counts = true});
      values_.push_back({int32, {}});
    }
    for (std::size_t i = 0, count = 1 + pick(graph_.is_large ? 5 : pick(4) == 0 ? 14 : 6); i < count; ++i) {
      for (int tries = 0; tries < 12 && !add_node(); ++tries) {
      }
    }
    if (has_sinks_) add_sinks();
    const std::size_t count = values_.size();
    graph_.outputs.push_back(static_cast<int>(count - 1));
    for (std::size_t i = 0, more = pick(4); i < more; ++i) graph_.outputs.push_back(static_cast<int>(pick(5) == 0 ? pick(count) : count - 1 - pick(std::min<std::size_t>(count, 4))));
    if (pick(12) == 0) graph_.threads = 3;
    graph_.share_results = pick(10) == 0;
    return std::move(graph_);
  }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  /// Few nodes on rows or columns of many elements, which kernels divide among tasks, hold in parts or go over again: gradients of those would take minutes to look at.
  void draw_large(std::uint64_t drawn) {
    graph_.is_large = true;
    graph_.differentiates = graph_.updates = has_sinks_ = false;
    families_ = {&op_family("norms"), &op_family("spaces")};
    if (drawn % 2 == 0) families_.push_back(&op_family("shapes"));
  }

  /// Extents of a call are drawn so that the space of all symbols stays small.
  void draw_symbols() {
    const std::size_t symbols = 1 + pick(4), rank = graph_.is_large ? 1 + pick(3) : pick(10) == 0 ? pick(7) : pick(4);
    for (std::size_t i = 0; i < rank; ++i) space_.push_back(kFirstSymbol + static_cast<int>(pick(symbols)));
    static constexpr std::int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 70, 300};
    static constexpr std::int64_t kLong[] = {256, 1000, 1024, 1025, 2048, 4096, 4099, 8191, 10000, 32768, 50257, 65536, 100003, 131072};
    const std::size_t calls = 1 + pick(graph_.is_large ? 2 : 3);
    for (std::size_t call = 0; call < calls; ++call) {
      std::vector<std::int64_t> extents(kFirstSymbol + symbols, 1);
      for (std::size_t i = kFirstSymbol; i < extents.size(); ++i) extents[i] = pick(25) == 0 ? 0 : kExtents[pick(std::size(kExtents))];
      if (graph_.is_large) extents[static_cast<std::size_t>(space_[pick(rank)])] = kLong[pick(std::size(kLong))];
      const auto size = [&] {
        std::int64_t product = 1;
        for (int symbol : space_) product *= std::max<std::int64_t>(extents[static_cast<std::size_t>(symbol)], 1);
        return product;
      };
      while (size() > (graph_.is_large ? kLargeSpace : kSmallSpace)) {
        const auto largest = std::max_element(extents.begin(), extents.end());
        *largest = (*largest + 1) / 2;
      }
      graph_.calls.push_back(std::move(extents));
    }
    hides_extents_ = calls > 1 || pick(2) == 0;
  }

  void add_input() {
    InputSpec input;
    input.dtype = dtypes_[pick(dtypes_.size())];
    const std::size_t rank = pick(3) == 0 ? pick(space_.size() + 1) : space_.size();
    input.dims.assign(space_.end() - static_cast<std::ptrdiff_t>(rank), space_.end());
    for (int& symbol : input.dims) {
      if (pick(7) == 0) symbol = pick(4) == 0 ? kHiddenOne : kOne;
    }
    for (int symbol : input.dims) input.known.push_back(symbol == kOne || (symbol != kHiddenOne && !hides_extents_ && pick(4) > 0));
    input.lie = pick(2) == 0 ? Lie::kPlain : static_cast<Lie>(pick(kLies));
    input.seed = static_cast<unsigned>(random_());
    if (pick(6) == 0) {
      std::vector<int> partners;
      for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
        if (graph_.inputs[i].dtype == input.dtype && graph_.inputs[i].shares < 0 && !graph_.inputs[i].counts) partners.push_back(static_cast<int>(i));
      }
      if (!partners.empty()) input.shares = partners[pick(partners.size())];
    }
    graph_.inputs.push_back(input);
    values_.push_back({input.dtype, input.dims});
  }

  int near() { return static_cast<int>(values_.size() - 1 - pick(std::min<std::size_t>(values_.size(), 6))); }

  bool add_node() {
    NodeSpec node;
    const std::size_t kind = pick(52);
    if (graph_.inputs.back().counts && pick(6) == 0) return add_head();
    if (overwrites_ && pick(2) == 0) {
      if (pick(4) > 0) return add_raw();
      return try_add({.kind = NodeSpec::Kind::kBackwardsInto, .name = {}, .operands = {near()}, .pattern = {}});
    }
    if (!families_.empty() && pick(3) == 0) return add_of_family();
    if (graph_.is_large && pick(3) == 0) return add_reduction();
    if (kind < 26) return add_row();
    if (kind < 29) node.kind = NodeSpec::Kind::kCast, node.operands = {near()}, node.dtype = pick(2) ? dtypes_[pick(dtypes_.size())] : kAllDTypes[pick(std::size(kAllDTypes))];
    else if (kind < 31) node.kind = NodeSpec::Kind::kConstant, node.dtype = dtypes_[pick(dtypes_.size())], node.number = number_of_a_rule(pick(41));
    else if (kind < 34) return add_shuffle();
    else if (kind < 35) node.kind = NodeSpec::Kind::kContiguous, node.operands = {near()};
    else if (kind < 36) node.kind = pick(2) == 0 ? NodeSpec::Kind::kBackwards : NodeSpec::Kind::kBackwardsInto, node.operands = {near()};
    else if (kind < 37) node.kind = NodeSpec::Kind::kCopied, node.operands = {near()};
    else if (kind < 43) return add_reduction();
    else if (kind < 45) return add_parts();
    else if (kind < 48) return add_dot();
    else if (kind < 50) return add_scan();
    else return add_raw();
    return try_add(std::move(node));
  }

  /// Half of them are those that rewrite rules look for.
  static double number_of_a_rule(std::size_t drawn) {
    static constexpr double kNumbers[] = {1, 0, -1, 2, -0.0, 0.5, 3, -2, 4};
    return drawn % 2 == 0 ? kNumbers[drawn / 2 % std::size(kNumbers)] : static_cast<double>(drawn) / 4 - 5;
  }

  bool try_add(NodeSpec node) {
    try {
      std::vector<ValueType> types = node_types(node, static_cast<int>(graph_.nodes.size()), values_);
      if (node.kind == NodeSpec::Kind::kConstant && !is_signed(node.dtype)) node.number = std::abs(node.number);
      const auto is_large = [this](const ValueType& type) { return greatest_size(type.dims) > kMostElements; };
      const bool from_large = std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) { return is_large(values_[static_cast<std::size_t>(operand)]); });
      // A family says itself how large its values are; nothing else makes large values of small ones.
      if (node.kind != NodeSpec::Kind::kFamily && !from_large && std::any_of(types.begin(), types.end(), is_large)) return false;
      values_.insert(values_.end(), types.begin(), types.end());
      graph_.nodes.push_back(std::move(node));
      return true;
    } catch (const std::logic_error&) {
      return false;
    }
  }

  /// The same row of several values, each of them a result: kernels of one text, which are one launch.
  void add_sinks() {
    static const char* kNames[] = {"add", "mul", "maximum", "neg", "abs", "lt"};
    const char* const name = kNames[pick(std::size(kNames))];
    for (std::size_t i = 0, count = 4 + pick(3); i < count; ++i) {
      NodeSpec node{.kind = NodeSpec::Kind::kRow, .name = name, .operands = {near()}, .pattern = {}};
      if (arity(*find_elementwise(name)) == 2) node.operands.push_back(pick(4) == 0 ? node.operands[0] : near());
      if (try_add(std::move(node))) graph_.outputs.push_back(static_cast<int>(values_.size() - 1));
    }
  }

  bool add_row() {
    const std::vector<const ElementwiseRow*> rows = elementwise_rows();
    const ElementwiseRow& row = *rows[pick(rows.size())];
    NodeSpec node{.kind = NodeSpec::Kind::kRow, .name = std::string(row.name), .operands = {}, .pattern = {}};
    for (int i = 0; i < arity(row); ++i) node.operands.push_back(i > 0 && pick(6) == 0 ? node.operands[0] : near());
    if (row.condition_first) {
      std::vector<int> conditions;
      for (std::size_t i = 0; i < values_.size(); ++i) {
        if (values_[i].dtype == bool_) conditions.push_back(static_cast<int>(i));
      }
      if (conditions.empty()) return false;
      node.operands[0] = conditions[pick(conditions.size())];
    }
    return try_add(std::move(node));
  }

  bool add_shuffle() {
    NodeSpec node{.kind = NodeSpec::Kind::kDimshuffle, .name = {}, .operands = {near()}, .pattern = {}};
    const Dims& dims = values_[static_cast<std::size_t>(node.operands[0])].dims;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] != kOne || pick(2) == 0) node.pattern.push_back(static_cast<int>(axis));
    }
    if (pick(3) > 0) std::shuffle(node.pattern.begin(), node.pattern.end(), random_);
    if (pick(3) == 0 && dims.size() < 6) node.pattern.insert(node.pattern.begin() + static_cast<std::ptrdiff_t>(pick(node.pattern.size() + 1)), kNewAxis);
    return try_add(std::move(node));
  }

  bool add_reduction() {
    static const char* kNames[] = {"sum", "sum", "max", "min", "prod", "mean", "argmax", "argmin", "any", "all"};
    NodeSpec node{.kind = NodeSpec::Kind::kReduce, .name = kNames[pick(std::size(kNames))], .operands = {near()}, .pattern = {}};
    const bool chooses = node.name.ends_with("max") || node.name.ends_with("min");
    for (const auto& extents : graph_.calls) {
      if (chooses && std::find(extents.begin(), extents.end(), 0) != extents.end()) return false;
    }
    const std::size_t rank = values_[static_cast<std::size_t>(node.operands[0])].dims.size();
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (pick(2) == 0) node.pattern.push_back(static_cast<int>(axis));
    }
    node.number = pick(3) > 0 ? 1 : 0;
    const bool also_others = pick(3) == 0;
    const NodeSpec first = node;
    return try_add(std::move(node)) && (!also_others || add_reduction_of_others(first, rank));
  }

  /// Over the axes that another reduction keeps, of the same value: rows and columns of one array.
  bool add_reduction_of_others(const NodeSpec& first, std::size_t rank) {
    static const char* kNames[] = {"sum", "sum", "mean", "prod", "any"};
    NodeSpec node{.kind = NodeSpec::Kind::kReduce, .name = kNames[pick(std::size(kNames))], .operands = first.operands, .pattern = {}};
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (std::find(first.pattern.begin(), first.pattern.end(), static_cast<int>(axis)) == first.pattern.end()) node.pattern.push_back(static_cast<int>(axis));
    }
    node.number = pick(3) > 0 ? 1 : 0;
    return try_add(std::move(node));
  }

  bool add_scan() {
    static const char* kNames[] = {"cumsum", "cumsum", "cumprod", "cummax", "cummin"};
    NodeSpec node{.kind = NodeSpec::Kind::kScan, .name = kNames[pick(std::size(kNames))], .operands = {near()}, .pattern = {}};
    const std::size_t rank = values_[static_cast<std::size_t>(node.operands[0])].dims.size();
    if (rank == 0) return false;
    node.pattern = {static_cast<int>(pick(rank))};
    node.number = static_cast<double>(2 * pick(2) + (node.name == "cumsum" || node.name == "cumprod" ? pick(2) : 0));  // the greatest of nothing is no number of the reference's
    return try_add(std::move(node));
  }

  bool add_parts() {
    static const char* kNames[] = {"roll", "doubled", "repeated", "set_flipped", "set_number", "add_number"};
    NodeSpec node{.kind = NodeSpec::Kind::kParts, .name = kNames[pick(std::size(kNames))], .operands = {near()}, .pattern = {}};
    const std::size_t rank = values_[static_cast<std::size_t>(node.operands[0])].dims.size();
    if (rank == 0) return false;
    node.pattern = {static_cast<int>(pick(rank))};
    node.number = static_cast<double>(pick(12));
    return try_add(std::move(node));
  }

  /// Of operands whose product takes no more than some ten thousand multiplications in any call.
  bool add_dot() {
    const int x = near();
    std::vector<NodeSpec> nodes;
    for (std::size_t y = 0; y < values_.size(); ++y) {
      NodeSpec node{.kind = NodeSpec::Kind::kDot, .name = {}, .operands = {x, static_cast<int>(y)}, .pattern = {}};
      try {
        Dims dims = node_types(node, 0, values_)[0].dims;
        dims.push_back(values_[static_cast<std::size_t>(x)].dims.back());
        const bool is_small = std::all_of(graph_.calls.begin(), graph_.calls.end(), [&](const std::vector<std::int64_t>& extents) {
          std::int64_t count = 1;
          for (int symbol : dims) count *= static_cast<std::size_t>(symbol) < extents.size() ? extents[static_cast<std::size_t>(symbol)] : greatest_extent(symbol);
          return count <= 50000;
        });
        if (is_small) nodes.push_back(std::move(node));
      } catch (const std::logic_error&) {  // does not go with x
      }
    }
    return !nodes.empty() && try_add(nodes[pick(nodes.size())]);
  }

  bool add_raw() {
    static const char* kNames[] = {"raw_mix", "raw_strided", "raw_into", "raw_mirror", "raw_both"};
    NodeSpec node{.kind = NodeSpec::Kind::kRaw, .name = kNames[pick(std::size(kNames))], .operands = {near()}, .pattern = {}};
    const int first = as_dtype(node.operands[0], raw_dtype(node.name));
    node.operands = {first};
    if (node.name == "raw_strided") return try_add(std::move(node));
    std::vector<int> partners;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].dims == values_[static_cast<std::size_t>(first)].dims && values_[i].dtype == raw_dtype(node.name)) partners.push_back(static_cast<int>(i));
    }
    node.operands.push_back(partners[pick(partners.size())]);
    return try_add(std::move(node));
  }

  bool add_of_family() {
    Draw draw(random_, values_, [this](int symbol) { return greatest_extent(symbol); });
    std::optional<NodeSpec> node = families_[pick(families_.size())]->draw(draw);
    if (!node || draw.result_size > (graph_.is_large ? kMostElements : 5000)) return false;
    const NewSymbols symbols{static_cast<int>(graph_.nodes.size())};
    if (!try_add(std::move(*node))) return false;
    bounds_[symbols.sized()] = draw.result_size;
    for (int i = 0; i < kFreshOfANode; ++i) bounds_[symbols.fresh(i)] = i < static_cast<int>(draw.bounds.size()) ? draw.bounds[static_cast<std::size_t>(i)] : 300;
    return true;
  }

  /// In any call; of what nodes make no more than that.
  std::int64_t greatest_extent(int symbol) const {
    std::int64_t greatest = 0;
    if (symbol >= kSizedSymbols) return bounds_.contains(symbol) ? bounds_.at(symbol) : 300;
    for (const std::vector<std::int64_t>& extents : graph_.calls) greatest = std::max(greatest, extents[static_cast<std::size_t>(symbol)]);
    return greatest;
  }

  /// Elements, in any call, at most.
  std::int64_t greatest_size(const Dims& dims) const {
    std::int64_t size = 1;
    for (int symbol : dims) size = std::min(size * std::max<std::int64_t>(greatest_extent(symbol), 1), kMostElements + 1);
    return size;
  }

  int as_dtype(int value, DType dtype) {
    if (values_[static_cast<std::size_t>(value)].dtype == dtype) return value;
    try_add({.kind = NodeSpec::Kind::kCast, .name = {}, .operands = {value}, .dtype = dtype, .pattern = {}});
    return static_cast<int>(values_.size()) - 1;
  }

  /// Where there is an input that counts rows.
  bool add_head() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].counts) return try_add({.kind = NodeSpec::Kind::kHead, .name = {}, .operands = {near(), static_cast<int>(i)}, .pattern = {}});
    }
    return false;
  }

  std::mt19937_64 random_;
  std::vector<DType> dtypes_;
  Dims space_;
  std::vector<const OpFamily*> families_;  // of which nodes are drawn
  std::map<int, std::int64_t> bounds_;     // of extents that nodes make
  bool hides_extents_ = false, has_sinks_ = false;
  bool overwrites_ = false;  // many RawKernels, on each other's outputs
  GraphSpec graph_;
  std::vector<ValueType> values_;
};

/// rare: infinities and the like are one in 65,536, or each long row would have some and its sum be no number.
Scalar random_value(std::mt19937_64& random, DType dtype, bool rare) {
  const std::uint64_t word = random(), which = word >> 56;
  if (dtype == bool_) return Scalar(static_cast<bool>(word & 1));
  if (!is_floating(dtype)) {
    if (which < 50) return Scalar(word << 8 | which).cast(dtype);
    return Scalar(static_cast<std::int64_t>(word % 21) - 10).cast(dtype);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kSpecial[] = {0, -0.0, 1, -1, 0.5, 2, 1e4, -1e4, 1e-5, 80, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  if (which < 12 && (!rare || (word >> 32) % 3072 == 0)) return Scalar(kSpecial[word % std::size(kSpecial)]).cast(dtype);
  const double unit = static_cast<double>(static_cast<std::int64_t>(word % 257) - 128);
  return Scalar(which < 60 ? unit * 0.0371 : unit / 32).cast(dtype);
}

}  // namespace

bool broadcast(const std::vector<Dims>& operands, Dims& result) {
  std::size_t rank = 0;
  for (const Dims& dims : operands) rank = std::max(rank, dims.size());
  result.assign(rank, kOne);
  for (const Dims& dims : operands) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      int& common = result[rank - dims.size() + i];
      if (dims[i] == common || dims[i] == kOne) continue;
      if (common != kOne) return false;
      common = dims[i];
    }
  }
  return true;
}

std::vector<ValueType> GraphSpec::types() const {
  std::vector<ValueType> values;
  for (const InputSpec& input : inputs) values.push_back({input.dtype, input.dims});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<ValueType> more = node_types(nodes[i], static_cast<int>(i), values);
    values.insert(values.end(), more.begin(), more.end());
  }
  for (int output : outputs) demand(output >= 0 && static_cast<std::size_t>(output) < values.size());
  return values;
}

GraphSpec random_graph(std::uint64_t seed) { return Generator(seed).draw(); }

Placement placement_of(const InputSpec& input, const std::vector<std::int64_t>& extents) {
  Placement place;
  for (int symbol : input.dims) place.shape.push_back(extents[static_cast<std::size_t>(symbol)]);
  const int rank = place.shape.rank();
  std::mt19937_64 random = generator(input.seed);
  std::vector<int> order(static_cast<std::size_t>(rank));  // axes, the slowest first
  for (int axis = 0; axis < rank; ++axis) order[static_cast<std::size_t>(axis)] = axis;
  if (input.lie == Lie::kTurned) std::reverse(order.begin(), order.end());
  if (input.lie == Lie::kMixed) std::shuffle(order.begin(), order.end(), random);
  place.strides = Shape::filled(rank, 1);
  std::int64_t step = input.lie == Lie::kEverySecond ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(place.shape[order[i]], 1);
    place.strides[order[i]] = step;
    step *= extent;
    if (i + 1 == order.size() && (input.lie == Lie::kPadded || input.lie == Lie::kMixed)) step += 3;
  }
  for (int axis = 0; axis < rank; ++axis) {
    const bool last = axis == rank - 1;
    if (input.lie == Lie::kRepeated && (last ? random() % 2 == 0 : true)) place.strides[axis] = random() % 2 == 0 ? 0 : place.strides[axis];
    if (input.lie == Lie::kWindows) place.strides[axis] = 1;
    if ((input.lie == Lie::kBackwards && last) || (input.lie == Lie::kMixed && random() % 2 == 0)) place.strides[axis] = -place.strides[axis];
  }
  std::int64_t lowest = 0, highest = 0;
  for (int axis = 0; axis < rank; ++axis) (place.strides[axis] < 0 ? lowest : highest) += std::max<std::int64_t>(place.shape[axis] - 1, 0) * place.strides[axis];
  place.offset = -lowest + (input.lie == Lie::kMisaligned ? 1 : 0);
  place.needed = place.offset + highest + 1;
  return place;
}

int buffer_of(const GraphSpec& graph, int input) {
  const int shares = graph.inputs[static_cast<std::size_t>(input)].shares;
  return shares < 0 ? input : shares;
}

std::vector<Scalar> buffer_values(const GraphSpec& graph, int buffer, std::size_t call) {
  const InputSpec& owner = graph.inputs[static_cast<std::size_t>(buffer)];
  if (owner.counts) return {Scalar(static_cast<std::int64_t>((owner.seed + call) % 4)).cast(int32)};
  std::int64_t needed = 0;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (buffer_of(graph, static_cast<int>(i)) == buffer) needed = std::max(needed, placement_of(graph.inputs[i], graph.calls[call]).needed);
  }
  std::mt19937_64 random = generator(owner.seed + 77 * call + 1);
  std::vector<Scalar> values;
  for (std::int64_t i = 0; i < needed; ++i) values.push_back(random_value(random, owner.dtype, needed > 8 * kSmallSpace));
  return values;
}

}  // namespace damo::testing
