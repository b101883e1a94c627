// KernelSpec: what one generated kernel computes, with no word about where. lower makes it from a node or a fused group;
// a Dialect prints it as text for a target and a Layout (how the arrays lie in memory).
//
// A kernel goes over an iteration space of kept and reduced axes; without reduced ones it is elementwise. Values are
// numbered: first the inputs, then the numbers, then the constants, then the steps in order. A value is an element's, there for each point
// of the space, or a row's, there for each point of the kept axes: what joins gave, and what follows from that alone.
// Steps mix freely: softmax is x, max = join(x), e = exp(x - max), sum = join(e), e / sum. Passes (passes.hpp) says how
// often a row is gone through. A prefix join gives each element what joins those of its row up to it, or before it; a spec with one is a scan:
// it reduces one axis, and all its prefix joins have one direction. What follows from a prefix is joined no further, neither by a prefix nor for the row; what a row's joins give may be joined so: cumsum(softmax(x)).
// No spec has both prefix joins and joins across rows. A join across rows joins what the
// rows have at one place of the reduced axes: as the gradient by a weight that multiplies each row. No step follows from it: it is stored. The steps of an
// elementwise spec may be gone through in turns (SerialLoop). An override replaces the printed text for one dialect, for kernels tuned by hand.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <damo/dtype.hpp>
#include <damo/scalar.hpp>

namespace damo {

struct Layout;

/// Where a user wrote the code of a row. Its own text: a kernel is compiled for a new layout after the row is gone.
struct RowPlace {
  std::string file;
  int line = 0;
  explicit operator bool() const { return !file.empty(); }
};

/// Whether a join gives a row its value, or each element that of the elements up to it, or of those before it.
enum class Prefix : std::uint8_t { kNone, kInclusive, kExclusive };

/// How the elements of a row become one value. Texts are C expressions in which T is the step's `compute` type and Joined that of a and b.
struct Join {
  std::string accumulator;  ///< C type of a and b, copied as bytes; empty: T, or a struct of the members, where there are some
  int bytes = 8;            ///< of the accumulator, or more; at most 64
  std::vector<std::pair<std::string, std::string>> members;  ///< type and name of each, where the accumulator is a struct of these
  std::string neutral;      ///< reduce(neutral, a) is a; of a prefix join the value of no elements
  std::string before;       ///< statements that stand before the expression `reduce`, of a and b too
  std::string reduce;       ///< of a and b; associative and commutative; of a prefix join associative, a being the earlier one
  std::string before_append;  ///< statements that stand before the expression `append`
  std::string append;       ///< of a and one element's x0, ..., which stands behind all that are in a; empty: reduce of a and what its code gives
  /// Statements that append N elements to each of K accumulators at once, all of which have as many: to a[k] x0[k][0], ..., x0[k][N - 1], likewise x1, ... They bring the accumulator what appending one
  /// after the other brings, but for its roundings. Empty: nothing is quicker than that. Not of prefix joins.
  std::string append_group;
  std::string post;         ///< of a and n, the number of elements that were joined; empty: a
  Prefix prefix = Prefix::kNone;
  bool backward = false;    ///< of a prefix join: the last element is the first
  bool across = false;      ///< over kept axes instead of the reduced ones: those along which its outputs do not move

  friend bool operator==(const Join&, const Join&) = default;
};

/// A scalar function applied to earlier values; with a join, the value of a row.
struct Step {
  std::string name;          ///< of the op, for comments and names
  std::string code;          ///< an expression on x0, x1, ... of type T
  DType compute = float32;   ///< T; float16 and bfloat16 compute in float
  DType result = float32;
  bool condition_first = false;  ///< x0 is a bool
  bool rounds = false;           ///< the result is rounded to a 16-bit result dtype at once (cast); else when it is stored
  std::vector<int> inputs;       ///< values
  RowPlace row;                  ///< empty for built-in rows
  int cost = 1;
  std::vector<DType> inputs_as;  ///< what each input is converted to; empty: compute
  std::optional<Join> join;  ///< code gives, from one element, what is joined
  bool is_place = false;     ///< no inputs: the element's number among those that are reduced together, in C order
  bool is_count = false;     ///< no inputs: how many elements are reduced together. A value of a row that needs no join
  bool is_at_place = false;  ///< inputs: an element's value, and a row's that is the number of one: that element's value added to 0, or 0 where the row has none of that number. A value of a row that needs no join of its own (sought_elements.hpp)

  /// As which the code sees input i.
  DType input_as(std::size_t i) const { return i == 0 && condition_first ? bool_ : i < inputs_as.size() ? inputs_as[i] : compute; }

  friend bool operator==(const Step& a, const Step& b) {
    return a.name == b.name && a.code == b.code && a.compute == b.compute && a.result == b.result &&
           a.condition_first == b.condition_first && a.rounds == b.rounds && a.inputs == b.inputs && a.inputs_as == b.inputs_as && a.join == b.join && a.is_place == b.is_place && a.is_count == b.is_count && a.is_at_place == b.is_at_place;
  }
};

/// Whether the two have one accumulator: they differ at most in what is made of it at the end. So several values are joined together: each is what one
/// such step makes of an accumulator that has them all.
inline bool accumulate_alike(const Step& a, const Step& b) {
  const auto same = [](const Join& x, const Join& y) {
    return x.reduce == y.reduce && x.neutral == y.neutral && x.accumulator == y.accumulator && x.bytes == y.bytes && x.members == y.members && x.before == y.before && x.before_append == y.before_append && x.append == y.append && x.append_group == y.append_group &&
           x.prefix == y.prefix && x.backward == y.backward && x.across == y.across;
  };
  return a.join && b.join && a.inputs == b.inputs && a.code == b.code && a.compute == b.compute && a.condition_first == b.condition_first && a.inputs_as == b.inputs_as && same(*a.join, *b.join);
}

/// The steps are computed again and again for each element, in turns, by one kernel. What a turn leaves to later ones stays in registers, or on a CPU in its
/// first-level cache. Of elementwise specs without ordinals and values. What a launch brings is in LoopRun.
struct SerialLoop {
  enum class Source : std::uint8_t {
    kOnce,    ///< the same element in all turns
    kRow,     ///< another one each turn, LoopRun::strides apart
    kCarried  ///< what an output had `lag` turns before; the array has what stands for it in the first `lag` turns
  };
  struct Input {
    Source source = Source::kOnce;
    int output = 0, lag = 0;  ///< of kCarried, lags 1, 2, ... of an output being inputs without a gap

    friend bool operator==(const Input&, const Input&) = default;
  };
  std::vector<Input> inputs;
  std::vector<bool> last;  ///< of output i: what it has after the last turn is stored, where there was none what lag 1 began with; else that of each turn from LoopRun::begins on
};

/// The turns of one launch.
struct LoopRun {
  std::int64_t turns = 0;             ///< below 2^31
  std::vector<std::int64_t> strides;  ///< by parameter: elements from one turn's to the next's, of those that are other ones each turn
  std::vector<std::int64_t> begins;   ///< by output: the first turn that is stored
};

/// Hand-written text for one dialect; gets the spec's layout.
struct Override {
  std::string dialect;
  std::function<std::string(const Layout&)> text;
};

/// A user's CUDA C that stands before a kernel whose steps call it (users_text.hpp). Of specs that reduce.
struct UsersText {
  std::string preamble;            ///< with its line directives
  std::vector<std::string> flags;  ///< the compiler's
};

struct KernelSpec {
  std::string name;                ///< "mul_add_tanh": becomes the kernel's name
  std::vector<DType> inputs;       ///< element dtypes of the array parameters
  std::vector<Scalar> numbers;     ///< passed with each launch, so that the text says their dtypes alone
  std::vector<Scalar> constants;   ///< literals of the text
  std::vector<Step> steps;
  std::vector<int> stores;         ///< the value that each output array receives
  std::vector<DType> outputs;
  std::vector<bool> guarded;       ///< whether the kernel looks at what it stores in output i, and tells where ArgumentBlock::set_flag says of NaN and infinities; of specs without turns; may be shorter
  std::vector<bool> values;        ///< whether input i is one element, passed by value with each launch; may be shorter
  std::vector<bool> tables;        ///< whether steps read elements of input i at places that they compute (Table of prelude/table.h): its address and size are passed by value with each launch; may be shorter
  std::vector<bool> rows;          ///< whether input i has one element a row; may be shorter
  std::vector<std::optional<std::uint32_t>> ordinals;  ///< of input i, if it is no array but the elements' numbers (ordinals.hpp); may be shorter
  std::optional<SerialLoop> loop;
  std::vector<Override> overrides;
  std::optional<UsersText> users_text;

  int input_count() const { return static_cast<int>(inputs.size()); }
  int parameter_count() const { return static_cast<int>(inputs.size() + outputs.size()); }
  DType parameter_dtype(int i) const {
    return i < input_count() ? inputs[static_cast<std::size_t>(i)] : outputs[static_cast<std::size_t>(i - input_count())];
  }
  /// The value that the first step makes.
  int first_step() const { return static_cast<int>(inputs.size() + numbers.size() + constants.size()); }
  bool is_value(int parameter) const {
    const auto i = static_cast<std::size_t>(parameter);
    return (i < values.size() && values[i]) || is_table(parameter);
  }
  /// Whether steps read elements of an input at places that they compute. What a launch brings by value is then its address and size.
  bool is_table(int parameter) const {
    const auto i = static_cast<std::size_t>(parameter);
    return i < tables.size() && tables[i];
  }
  /// Whether a user wrote some of its code.
  bool has_users_code() const {
    return users_text || std::any_of(steps.begin(), steps.end(), [](const Step& step) { return bool(step.row); });
  }
  /// Whether input i lies along the kept axes alone: one element a row.
  bool is_row(int parameter) const {
    const auto i = static_cast<std::size_t>(parameter);
    return i < rows.size() && rows[i];
  }
  /// Where input i of a spec with turns comes from.
  SerialLoop::Source source(int parameter) const { return loop->inputs[static_cast<std::size_t>(parameter)].source; }
  /// The input that has what output number `output` had `lag` turns before; -1: none.
  int carrier(int output, int lag) const {
    const auto found = std::find(loop->inputs.begin(), loop->inputs.end(), SerialLoop::Input{SerialLoop::Source::kCarried, output, lag});
    return found == loop->inputs.end() ? -1 : static_cast<int>(found - loop->inputs.begin());
  }
  /// Whether output i of a spec with turns is stored once, behind them.
  bool is_last(int parameter) const { return loop->last[static_cast<std::size_t>(parameter - input_count())]; }
  /// Whether each turn reads or writes another element of it.
  bool moves_with_turns(int parameter) const {
    return loop && (is_output(parameter) ? !is_last(parameter) : source(parameter) == SerialLoop::Source::kRow);
  }
  /// Whether input i has no memory: element k of it is k, in C order, over the axes of `ordinals`.
  bool is_ordinals(int parameter) const {
    const auto i = static_cast<std::size_t>(parameter);
    return i < ordinals.size() && ordinals[i].has_value();
  }
  bool has_ordinals() const {
    return std::any_of(ordinals.begin(), ordinals.end(), [](const auto& axes) { return axes.has_value(); });
  }
  /// Whether output i, counted among the outputs, is looked at as it is stored.
  bool is_guarded(int output) const {
    const auto i = static_cast<std::size_t>(output);
    return i < guarded.size() && guarded[i];
  }
  bool has_guards() const { return std::find(guarded.begin(), guarded.end(), true) != guarded.end(); }
  bool has_tables() const { return std::find(tables.begin(), tables.end(), true) != tables.end(); }
  /// Bytes of memory that an element of the iteration space has in it.
  int element_bytes(int parameter) const { return is_ordinals(parameter) || is_table(parameter) ? 0 : static_cast<int>(itemsize(parameter_dtype(parameter))); }
  bool is_output(int parameter) const { return parameter >= input_count(); }
  /// Leaves out steps: those of which `stays` says no, by their values. None that stays reads one of them, nor is one stored.
  void keep_steps(const std::vector<bool>& stays) {
    const auto first = static_cast<std::size_t>(first_step());
    std::vector<int> place(stays.size());
    std::vector<Step> kept;
    for (std::size_t value = 0; value < stays.size(); ++value) {
      place[value] = static_cast<int>(value < first ? value : first + kept.size());
      if (value < first || !stays[value]) continue;
      kept.push_back(std::move(steps[value - first]));
      for (int& input : kept.back().inputs) input = place[static_cast<std::size_t>(input)];
    }
    steps = std::move(kept);
    for (int& store : stores) store = place[static_cast<std::size_t>(store)];
  }
  /// Leaves out what follows to no output.
  void keep_read() {
    const auto first = static_cast<std::size_t>(first_step());
    std::vector<bool> is_read(first + steps.size(), false);
    for (int store : stores) is_read[static_cast<std::size_t>(store)] = true;
    for (std::size_t value = is_read.size(); value-- > first;) {
      if (!is_read[value]) continue;
      for (int input : steps[value - first].inputs) is_read[static_cast<std::size_t>(input)] = true;
    }
    keep_steps(is_read);
  }
  int cost() const {
    int sum = 0;
    for (const Step& step : steps) sum += step.cost;
    return sum;
  }
  /// Whether its iteration space has reduced axes: it joins the elements of rows, or counts them.
  bool reduces() const {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.join || step.is_place || step.is_count; });
  }
  /// Whether it has prefix joins.
  bool scans() const {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.join && step.join->prefix != Prefix::kNone; });
  }
  /// Whether it has prefix joins beside joins of rows, which a kernel of prefix joins does not make (split_passes.hpp).
  bool scans_beside_rows() const {
    return scans() && std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.join && step.join->prefix == Prefix::kNone; });
  }
  /// Whether it has prefix joins and no others.
  bool scans_alone() const { return scans() && !scans_beside_rows(); }
  bool is_backward() const {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.join && step.join->backward; });
  }
  bool joins_across() const {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.join && step.join->across; });
  }
  /// Whether a value is one of those joins.
  bool is_across(int value) const { return value >= first_step() && step_of(value).join && step_of(value).join->across; }
  bool uses_place() const {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.is_place || step.is_at_place; });
  }
  const Step& step_of(int value) const { return steps[static_cast<std::size_t>(value - first_step())]; }
  /// Of a value that a join gives: the first join that has the same accumulator.
  int accumulator_of(int value) const {
    int first = first_step();
    while (first < value && !accumulate_alike(step_of(first), step_of(value))) ++first;
    return first;
  }
  /// Whether a step joins, and none before it has its accumulator.
  bool accumulates(int value) const { return step_of(value).join && accumulator_of(value) == value; }
};

}  // namespace damo
