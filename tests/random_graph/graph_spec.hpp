// A random graph as plain data: what can be built, computed by a reference, made smaller and printed as a program.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <damo/damo.hpp>

namespace damo::testing {

/// Axes are named by symbols. Symbol 0 has the extent 1, and types know it, so it stretches; symbol 1 has the extent 1, and types do not.
/// The extents of the others differ from call to call.
using Dims = std::vector<int>;
constexpr int kOne = 0, kHiddenOne = 1, kFirstSymbol = 2;

/// How an array lies in its buffer.
enum class Lie : std::uint8_t { kPlain, kTurned, kBackwards, kEverySecond, kMisaligned, kPadded, kRepeated, kWindows, kMixed };
constexpr int kLies = 9;

struct InputSpec {
  DType dtype = float32;
  Dims dims;
  std::vector<char> known;  ///< by axis: whether the type has the extent
  Lie lie = Lie::kPlain;
  unsigned seed = 0;        ///< of the values
  int shares = -1;          ///< the earlier input of the same dtype in whose buffer it lies
  bool counts = false;      ///< a number of rows, for head
};

struct NodeSpec {
  enum class Kind : std::uint8_t { kRow, kCast, kConstant, kDimshuffle, kContiguous, kRaw, kBackwards, kBackwardsInto, kCopied, kHead, kParts, kReduce, kDot, kScan, kFamily };
  Kind kind = Kind::kRow;
  std::string family = {};    ///< of kFamily (op_family.hpp), whose op is `name`
  std::string name;           ///< of a row, a RawKernel or a reduction; of kParts how (parts_of)
  std::vector<int> operands;  ///< values
  DType dtype = float32;      ///< of a cast or a constant
  double number = 0;          ///< of a constant; of a reduction 1 if its axes stay; that parts_of takes
  std::vector<int> pattern;   ///< of a dimshuffle; the axes of a reduction, that of kParts; numbers of a family's op
  int outputs = 1;            ///< of a family's op
  int output_count() const { return kind == Kind::kRaw && name == "raw_both" ? 2 : outputs; }
};

struct ValueType {
  DType dtype;
  Dims dims;
};

struct GraphSpec {
  std::vector<InputSpec> inputs;
  std::vector<NodeSpec> nodes;                    ///< values: inputs first, then the outputs of each node in order
  std::vector<int> outputs;                       ///< values
  std::vector<std::vector<std::int64_t>> calls;   ///< extents by symbol; kUnknown where data decides
  int threads = 1;
  bool share_results = false;
  bool differentiates = false, recomputes = false;  ///< whether gradients are looked at too (gradient_check.hpp), of what is computed again
  bool updates = false;                             ///< and shared variables (shared_check.hpp)
  bool donates = false;                             ///< and inputs that results may be written over
  bool is_large = false;                            ///< few nodes on rows or columns of many elements

  /// Of every value. Throws std::logic_error for a spec that cannot be built: what a shrinker tries may be one.
  std::vector<ValueType> types() const;
  int value_count() const;
};

GraphSpec random_graph(std::uint64_t seed);

/// Dims of an elementwise op; false if they do not go together.
bool broadcast(const std::vector<Dims>& operands, Dims& result);

/// Where the elements of an input lie, in elements of its buffer.
struct Placement {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0, needed = 0;  ///< needed: elements of the buffer
};
Placement placement_of(const InputSpec& input, const std::vector<std::int64_t>& extents);

/// The input whose buffer an input lies in: itself, or what it shares with.
int buffer_of(const GraphSpec& graph, int input);
/// The values of a buffer in one call, exact in its dtype.
std::vector<Scalar> buffer_values(const GraphSpec& graph, int buffer, std::size_t call);

}  // namespace damo::testing
