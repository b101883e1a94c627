#include <damo/ops/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include <damo/op.hpp>
#include <damo/thunk.hpp>
#include "graph/base/number_text.hpp"
#include "graph/user_line.hpp"

namespace damo {
namespace {

/// Its input, whose value is looked at: what it overwrites stays what it is.
class LookOp : public Op {
 public:
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {inputs.at(0)}, {inputs.at(0).type()}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  int overwrites(int) const override { return 0; }
  Gradients gradient(const Apply&, std::span<const Variable> output_gradients) const override {
    return output_gradients[0] ? Gradients(output_gradients[0]) : Gradients{Gradient::disconnected()};
  }
};

class ObserveOp final : public LookOp {
 public:
  explicit ObserveOp(std::function<void(const Array&)> look) : look_(std::move(look)) {}
  std::string name() const override { return "observe"; }
  bool may_refuse() const override { return true; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    return [&value = context.storage(node.output()), look = look_] { look(value.array()); };
  }
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

 private:
  std::function<void(const Array&)> look_;
};

std::string said(const std::string& word, const Array& value) {
  if (word == "value") return to_string(value);
  if (word == "shape") return "shape " + to_string(value.shape());
  if (word == "strides") return "strides " + to_string(value.strides());
  const std::vector<double> values = value.to_doubles();
  if (word == "finite") return std::to_string(std::count_if(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) + " of " + std::to_string(values.size()) + " finite";
  if (values.empty()) return word + " of no elements";
  double result = word == "mean" ? 0 : values.front();
  for (double x : values) {
    if (word == "mean") result += x / static_cast<double>(values.size());
    else if (std::isnan(x) || (word == "min" ? x < result : x > result)) result = x;
    if (std::isnan(result)) break;
  }
  return word + " " + number_text(result, 6);
}

class PrintOp final : public LookOp {
 public:
  PrintOp(std::string message, std::vector<std::string> what) : message_(std::move(message)), what_(std::move(what)) {}
  std::string name() const override { return "print"; }
  Props props() const override {
    std::string words;
    for (const std::string& word : what_) words += (words.empty() ? "" : " ") + word;
    return {{"message", message_}, {"what", words}};
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    return [&value = context.storage(node.output()), message = message_, what = what_] {
      std::string line = message + " " + std::string(damo::name(value.dtype())) + ":";
      for (std::size_t i = 0; i < what.size(); ++i) line += (i == 0 ? " " : ", ") + said(what[i], value.array());
      line += "\n";
      std::fwrite(line.data(), 1, line.size(), stdout);
      std::fflush(stdout);
    };
  }

 private:
  std::string message_;
  std::vector<std::string> what_;
};

Variable looked_at(const Operand& x, std::shared_ptr<const Op> op) {
  const Variable inputs[] = {x.as(x.promotable().dtype)};
  return op->apply(inputs, x.where()).output();
}

}  // namespace

Variable print(const Operand& x, std::string message, std::vector<std::string> what) {
  static const std::string words[] = {"value", "shape", "strides", "min", "max", "mean", "finite"};
  asked("print", [&] {
    for (const std::string& word : what) {
      if (std::find(std::begin(words), std::end(words), word) == std::end(words)) throw OptionError("print: there is no '" + word + "' to print", "say value, shape, strides, min, max, mean or finite");
    }
  }, x);
  return looked_at(x, std::make_shared<const PrintOp>(std::move(message), std::move(what)));
}

Variable observe(const Operand& x, std::function<void(const Array&)> look) {
  asked("observe", [&] {
    if (!look) throw GraphError("observe: there is no function to call", "give one that takes the values: [](const Array& x) { ... }");
  }, x);
  return looked_at(x, std::make_shared<const ObserveOp>(std::move(look)));
}

}  // namespace damo
