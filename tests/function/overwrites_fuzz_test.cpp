// Random graphs with ops that overwrite, against an interpreter in which every op makes new values. Results that a
// caller holds and the caller's own arrays must keep theirs.
#include <damo/damo.hpp>

#include <cmath>
#include <random>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::CallbackOp;
using Values = std::vector<double>;  // of a square matrix, C order

const RawKernel mean_into{
    {.name = "mean_into",
     .inputs = {"double* total", "const double* x"},
     .outputs = {"double* total"},
     .scalars = {"int size"},
     .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) total[i] = 0.5 * (total[i] + x[i]);",
     .overwrites = {"total"}}};
const RawKernel both_into{{.name = "both_into",
                           .inputs = {"double* a", "double* b"},
                           .outputs = {"double* a", "double* b"},
                           .scalars = {"int size"},
                           .body = R"(
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    double x = a[i], y = b[i];
    a[i] = 0.5 * (x - y);
    b[i] = 0.25 * x + 0.5 * y;)",
                           .overwrites = {"b", "a"}}};
/// Reads elements of x that other threads have written by then, if x and total were one memory.
const RawKernel mirror_into{
    {.name = "mirror_into",
     .inputs = {"double* total", "const double* x"},
     .outputs = {"double* total"},
     .scalars = {"int size"},
     .body =
         "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) total[i] = 0.5 * (total[i] + x[size - 1 - i]);",
     .overwrites = {"total"}}};
const RawKernel negated{{.name = "negated",
                         .inputs = {"const double* x"},
                         .outputs = {"double* y"},
                         .scalars = {"int size"},
                         .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) y[i] = -x[i];"}};

Values each(const Values& a, const Values& b, double (*rule)(double, double)) {
  Values result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(rule(a[i], b[i]));
  return result;
}
Values transposed(const Values& a) {
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(a.size()))));
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i % n * n + i / n] = a[i];
  return result;
}

/// A graph, and for each Variable how its values follow from others'.
class OverwritingGraph {
 public:
  OverwritingGraph(unsigned seed, const OpHandle<CallbackOp>& sized_by_data)
      : random_(seed), sized_by_data_(sized_by_data) {
    for (int i = 0; i < 2; ++i) {
      inputs.push_back(matrix("i" + std::to_string(i), float64));
      add(inputs.back(), "input", [i](const std::vector<Values>& all) { return all[static_cast<std::size_t>(i)]; });
    }
    for (std::size_t i = 0, nodes = 3 + pick(12); i < nodes; ++i) add_node();
    for (std::size_t i = 0, count = 1 + pick(4); i < count; ++i) {
      outputs.push_back(i == 0 ? variables_.size() - 1 : pick(variables_.size()));
    }
  }
  std::vector<Values> interpret(const Values& first, const Values& second) const {
    std::vector<Values> all{first, second};
    for (std::size_t i = 2; i < rules_.size(); ++i) all.push_back(rules_[i](all));
    return all;
  }
  std::vector<Variable> output_variables() const {
    std::vector<Variable> result;
    for (std::size_t output : outputs) result.push_back(variables_[output]);
    return result;
  }

  std::vector<Variable> inputs;
  std::vector<std::size_t> outputs;
  std::string text;

 private:
  using Rule = std::function<Values(const std::vector<Values>&)>;
  std::size_t pick(std::size_t n) { return random_() % n; }
  void add(const Variable& variable, const std::string& what, Rule rule) {
    text += std::to_string(variables_.size()) + " = " + what + "\n";
    variables_.push_back(variable);
    rules_.push_back(std::move(rule));
  }
  void add_binary(const Variable& y, const std::string& what, std::size_t a, std::size_t b,
                  double (*rule)(double, double)) {
    add(y, what + " " + std::to_string(a) + " " + std::to_string(b),
        [=](const std::vector<Values>& all) { return each(all[a], all[b], rule); });
  }
  void add_unary(const Variable& y, const std::string& what, std::size_t a, Values (*rule)(const Values&)) {
    add(y, what + " " + std::to_string(a), [=](const std::vector<Values>& all) { return rule(all[a]); });
  }
  void add_node() {
    const std::size_t a = variables_.size() - 1 - pick(std::min<std::size_t>(variables_.size(), 5)),
                      b = pick(4) == 0 ? a : pick(variables_.size());
    const Variable x = variables_[a], y = variables_[b];
    switch (pick(13)) {
      case 0:
        return add_binary((x + y) * 0.5, "half sum", a, b, [](double p, double q) { return (p + q) * 0.5; });
      case 1:
        return add_unary(transpose(x), "transpose", a, transposed);
      case 2:
        return add_unary(contiguous(transpose(x)), "contiguous transpose", a, transposed);
      case 3:
        return add_unary(negated(x), "negated", a,
                         [](const Values& v) { return each(v, v, [](double p, double) { return -p; }); });
      case 4:
      case 5: {
        const auto results = both_into.outputs({x, y});
        add_binary(results[0], "both.0", a, b, [](double p, double q) { return 0.5 * (p - q); });
        return add_binary(results[1], "both.1", a, b, [](double p, double q) { return 0.25 * p + 0.5 * q; });
      }
      case 7:
      case 8: {
        const std::size_t from = pick(2) == 0 ? a : b;
        return add(mirror_into(x, variables_[from]), "mirror into " + std::to_string(a) + " " + std::to_string(from),
                   [=](const std::vector<Values>& all) {
                     const Values mirrored(all[from].rbegin(), all[from].rend());
                     return each(all[a], mirrored, [](double p, double q) { return 0.5 * (p + q); });
                   });
      }
      case 6:
        if (pick(4) > 0) return;
        return add_unary(sized_by_data_(x), "sized by data", a, [](const Values& v) { return v; });
      default:
        return add_binary(mean_into(x, y), "mean into", a, b, [](double p, double q) { return 0.5 * (p + q); });
    }
  }

  std::mt19937 random_;
  OpHandle<CallbackOp> sized_by_data_;
  std::vector<Variable> variables_;
  std::vector<Rule> rules_;
};

class OverwritesFuzzOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  static Values random_values(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    Values values;
    for (std::size_t i = 0; i < n * n; ++i) values.push_back(std::uniform_real_distribution(-2.0, 2.0)(random));
    return values;
  }
  static void expect_near(const Values& got, const Values& want, const std::string& label) {
    ASSERT_EQ(got.size(), want.size()) << label;
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-12) << label << ", element " << i;
  }
};

TEST_P(OverwritesFuzzOnEachDevice, GivesWhatCopyingOpsWouldGive) {
  const auto copy = make_op<CallbackOp>(
      "sized_copy",
      [](Cell& x, Cell& y) {
        y.resize(x.shape());
        y.array().copy_from(x.array());
      },
      true);
  int in_place = 0, copied = 0, twice = 0;
  for (unsigned seed = 0; seed < 160 && !HasFatalFailure(); ++seed) {
    OverwritingGraph graph(seed, copy);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.text);
    const Function f = function(graph.inputs, graph.output_variables(),
                                {.fuse = seed % 4 == 0, .device = device(), .allow_unused_inputs = true});
    std::vector<std::pair<Results, std::vector<Values>>> held;
    for (const std::size_t n : {3, 3, 40, 3, 40, 1}) {  // 40: more threads than run at once
      const Values first = random_values(n, seed + 1), second = random_values(n, seed + 2);
      const Shape shape{static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)};
      const Array a = Array::from(first, shape, device());
      const Array b = seed % 3 == 0 ? Array::from(transposed(second), shape, device()).transpose()
                                    : Array::from(second, shape, device());
      held.emplace_back(f(a, b), graph.interpret(first, second));
      expect_near(a.to_vector<double>(), first, "the caller's first array");
      expect_near(b.to_vector<double>(), second, "the caller's second array");
      if (n != 1 && n != 40) continue;  // results are held for a while, then looked at, and their buffers used again
      for (const auto& [results, want] : held) {
        for (std::size_t i = 0; i < results.size(); ++i) {
          expect_near(results[i].to_vector<double>(), want[graph.outputs[i]], "result " + std::to_string(i));
        }
      }
      held.clear();
    }
    const std::string page = f.explain();
    in_place += page.find("in place") != std::string::npos;
    copied += page.find(" first: ") != std::string::npos;
    twice += page.find("has the same values") != std::string::npos;
  }
  EXPECT_GT(in_place, 40);
  EXPECT_GT(copied, 40);
  EXPECT_GT(twice, 4);
}

DAMO_ON_EACH_DEVICE(OverwritesFuzzOnEachDevice);

}  // namespace
}  // namespace damo
