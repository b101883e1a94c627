// KernelSpec: what one generated kernel computes, with no word about where. lower makes it from a node or a fused group;
// a Dialect prints it as text for a target and a Layout (how the arrays lie in memory).
//
// Values are numbered: first the inputs, then the numbers, then the constants, then the steps in order. A stage is a list of steps that
// one element (later: one row) goes through between two reductions; elementwise kernels have one stage and no reduced
// axes. An override replaces the printed text for one dialect, for kernels tuned by hand.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
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

/// A scalar function applied to earlier values.
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

  friend bool operator==(const Step& a, const Step& b) {
    return a.name == b.name && a.code == b.code && a.compute == b.compute && a.result == b.result &&
           a.condition_first == b.condition_first && a.rounds == b.rounds && a.inputs == b.inputs;
  }
};

struct Stage {
  std::vector<Step> steps;
  friend bool operator==(const Stage&, const Stage&) = default;
};

/// Hand-written text for one dialect; gets the spec's layout.
struct Override {
  std::string dialect;
  std::function<std::string(const Layout&)> text;
};

struct KernelSpec {
  std::string name;                ///< "mul_add_tanh": becomes the kernel's name
  std::vector<DType> inputs;       ///< element dtypes of the array parameters
  std::vector<Scalar> numbers;     ///< passed with each launch, so that the text says their dtypes alone
  std::vector<Scalar> constants;   ///< literals of the text
  std::vector<Stage> stages = {{}};
  std::vector<int> stores;         ///< the value that each output array receives
  std::vector<DType> outputs;
  std::vector<bool> values;        ///< whether input i is one element, passed by value with each launch; may be shorter
  std::vector<int> reduced_axes;   ///< of the iteration space; empty for elementwise kernels
  std::vector<Override> overrides;

  int input_count() const { return static_cast<int>(inputs.size()); }
  int parameter_count() const { return static_cast<int>(inputs.size() + outputs.size()); }
  DType parameter_dtype(int i) const {
    return i < input_count() ? inputs[static_cast<std::size_t>(i)] : outputs[static_cast<std::size_t>(i - input_count())];
  }
  /// The value that the first step makes.
  int first_step() const { return static_cast<int>(inputs.size() + numbers.size() + constants.size()); }
  bool is_value(int parameter) const {
    const auto i = static_cast<std::size_t>(parameter);
    return i < values.size() && values[i];
  }
  /// Whether a user wrote some of its code.
  bool has_users_code() const {
    for (const Stage& stage : stages) {
      for (const Step& step : stage.steps) {
        if (step.row) return true;
      }
    }
    return false;
  }
  bool is_output(int parameter) const { return parameter >= input_count(); }
  int cost() const {
    int sum = 0;
    for (const Stage& stage : stages) {
      for (const Step& step : stage.steps) sum += step.cost;
    }
    return sum;
  }
};

}  // namespace damo
