// How a RawKernelOp reads its definition's declarations: which parameter is what.
#include <algorithm>
#include <cctype>

#include "ops/raw_kernel_op.hpp"

namespace damo {
namespace {

/// Reads "dim12" as the axis 12.
bool read_axis(const std::string& text, const std::string& word, int& axis) {
  if (!text.starts_with(word) || text.size() == word.size() || text.size() > word.size() + 2) return false;
  const std::string digits = text.substr(word.size());
  if (!std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); })) return false;
  axis = std::stoi(digits);
  return axis < kMaxRank;
}

/// The number of the parameter of that name; -1: none.
int find(const std::vector<RawParameter>& parameters, const std::string& name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const RawParameter& p) { return p.name == name; });
  return found == parameters.end() ? -1 : static_cast<int>(found - parameters.begin());
}

}  // namespace

void RawKernelOp::read_inputs() {
  const std::vector<std::string>& overwritten = definition_.overwrites;
  for (const std::string& declaration : definition_.inputs) {
    inputs_.push_back(parse_parameter(declaration));
    const RawParameter& input = inputs_.back();
    if (!input.is_pointer)
      throw GraphError("the input \"" + declaration + "\" is no pointer",
                       "name it in .scalars, or write const float* x");
    const bool is_overwritten = std::find(overwritten.begin(), overwritten.end(), input.name) != overwritten.end();
    if (is_overwritten && (input.is_const || input.is_strided))
      throw GraphError(
          "the input \"" + declaration + "\" is overwritten and declared " + (input.is_const ? "const" : "strided"),
          "leave the word out: the kernel writes it, in C order");
    if (!is_overwritten && !input.is_const)
      throw GraphError(
          "the input \"" + declaration + "\" can be written",
          "write const: other nodes read the same elements; or name it among the outputs and in .overwrites");
  }
}

void RawKernelOp::read_outputs() {
  for (const std::string& declaration : definition_.outputs) {
    outputs_.push_back(parse_parameter(declaration));
    if (!outputs_.back().is_pointer || outputs_.back().is_const)
      throw GraphError("the output \"" + declaration + "\" cannot be written", "write float* y");
    if (outputs_.back().is_strided)
      throw GraphError("the output \"" + declaration + "\" is declared strided",
                       "outputs are in C order: leave the word out");
  }
}

void RawKernelOp::read_overwrites() {
  overwrites_.assign(outputs_.size(), -1);
  for (const std::string& name : definition_.overwrites) {
    const int input = find(inputs_, name), output = find(outputs_, name);
    if (input < 0 || output < 0) {
      throw GraphError(".overwrites names \"" + name + "\", which is no " + (input < 0 ? "input" : "output"),
                       "declare it in both: .inputs = {\"float* total\"}, .outputs = {\"float* total\"}, .overwrites = "
                       "{\"total\"}");
    }
    if (inputs_[static_cast<std::size_t>(input)].dtype != outputs_[static_cast<std::size_t>(output)].dtype) {
      throw GraphError(".overwrites names \"" + name +
                           "\", whose declarations differ: " + inputs_[static_cast<std::size_t>(input)].declaration +
                           " and " + outputs_[static_cast<std::size_t>(output)].declaration,
                       "it is one parameter: declare it alike");
    }
    if (overwrites_[static_cast<std::size_t>(output)] >= 0)
      throw GraphError(".overwrites names \"" + name + "\" twice", "name it once");
    overwrites_[static_cast<std::size_t>(output)] = input;
  }
}

void RawKernelOp::read_scalars() {
  for (const std::string& declaration : definition_.scalars) scalars_.push_back(read_scalar(declaration));
  if (definition_.values) return;
  for (const RawScalar& scalar : scalars_) {
    if (scalar.fact != RawScalar::Fact::kGiven) continue;
    throw GraphError("no value for the scalar \"" + scalar.parameter.declaration + "\"",
                     "give .values, or call it size, n, x_size, x_dim0 or x_stride0, where x is an input or output");
  }
}

std::vector<int> RawKernelOp::parameter_cells() const {
  std::vector<int> cells;
  for (std::size_t i = 0; i < inputs_.size(); ++i) cells.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const int cell = static_cast<int>(inputs_.size() + i);
    if (overwrites_[i] < 0)
      cells.push_back(cell);
    else
      cells[static_cast<std::size_t>(overwrites_[i])] = cell;
  }
  return cells;
}

void RawKernelOp::check_names() const {
  std::vector<std::string> names;
  for (const RawParameter& input : inputs_) names.push_back(input.name);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (overwrites_[i] < 0) names.push_back(outputs_[i].name);
  }
  for (const RawScalar& scalar : scalars_) names.push_back(scalar.parameter.name);
  if (definition_.source.text.empty()) {  // else the program's own text declares them
    for (const std::string& name : names) require_parameter_name(name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return;
  throw GraphError("two parameters are called " + *twice,
                   "give each a name of its own; one that is read and written is named in .overwrites");
}

RawScalar RawKernelOp::read_scalar(const std::string& declaration) const {
  RawScalar scalar{.parameter = parse_parameter(declaration)};
  const std::string& name = scalar.parameter.name;
  if (scalar.parameter.is_pointer)
    throw GraphError("the scalar \"" + declaration + "\" is a pointer", "name it among the inputs or outputs");
  if (name == "size" || name == "n") {
    scalar.fact = RawScalar::Fact::kSize;
    scalar.array = static_cast<int>(inputs_.size());
    return scalar;
  }
  std::vector<RawParameter> arrays = inputs_;
  arrays.insert(arrays.end(), outputs_.begin(), outputs_.end());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!name.starts_with(arrays[i].name + "_")) continue;
    const std::string rest = name.substr(arrays[i].name.size() + 1);
    scalar.array = static_cast<int>(i);
    if (rest == "size")
      scalar.fact = RawScalar::Fact::kSize;
    else if (read_axis(rest, "dim", scalar.axis))
      scalar.fact = RawScalar::Fact::kExtent;
    else if (read_axis(rest, "stride", scalar.axis))
      scalar.fact = RawScalar::Fact::kStride;
    if (scalar.fact != RawScalar::Fact::kGiven) return scalar;
  }
  return scalar;
}

}  // namespace damo
