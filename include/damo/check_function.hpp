// check_function: Theano's DebugMode. A graph's values on given inputs are followed through everything that function() does to it:
//
//   check_function({x, w}, {cost}, {a, b});                          // throws CheckError, or all is well
//
//   - as it is written, a kernel a node, nothing rewritten: what all else is held against, a second call of it too;
//   - after each pass, the user's own too: a difference names the pass, and of a pass of rules the rule;
//   - each node of the graph as it runs, by itself, on its own inputs: against that node in the whole graph, and of a fused kernel against the ops that it
//     stands for. A difference, or an input that is not what it was, names the node and its line;
//   - the whole once more on inputs with strides of any kind.
// All new memory is poisoned, with other bytes where a node runs by itself, so that what is read or left without being written shows.
//
// Where the graph as it is written gives NaN or infinities nothing is compared: rewrites may give what the expression means. Shared variables are read; updates are
// computed as results, and leave the variables as they are. Cost: each node and each stage is compiled and run; for tests and for finding errors.
// See tests/function/check_function_test.cpp.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>

#include <damo/array.hpp>
#include <damo/error.hpp>
#include <damo/options.hpp>

namespace damo {

/// A pass, a rule or an op that changes values.
struct CheckError : Error {
  using Error::Error;
};

struct CheckOptions {
  /// Differences that count: of this times the greatest value of the result. By dtype unless told: float64 1e-9, float32 1e-4, 16 bits 3e-2; integers and bools
  /// never differ.
  std::optional<double> tolerance = {};
};

/// options: what function() would get. Throws CheckError, and what building and calling the function throws.
void check_function(std::span<const Variable> inputs, std::span<const Variable> outputs, std::span<const Array> values, const Options& options = {}, const CheckOptions& check = {});
inline void check_function(std::initializer_list<Variable> inputs, std::initializer_list<Variable> outputs, std::initializer_list<Array> values, const Options& options = {},
                           const CheckOptions& check = {}) {
  check_function(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), std::span(values.begin(), values.size()), options, check);
}

}  // namespace damo
