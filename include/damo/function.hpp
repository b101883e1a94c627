// function(): inputs and outputs of a graph -> a Function that is called with Arrays.
//
//   auto x = matrix("x"), y = matrix("y");
//   Function f = function({x, y}, {tanh(1.5 * x + 0.5 * y) * x, x - y});
//   auto [z, d] = f.call<2>(a, b);
//   Array only = function({x}, {2 * x})(a);
//   Results d = function({x, y}, grad(cost, {x, y}))(a, b);         // a list, or any range of Variables
//   Results r = f.call_named({{"y", b}, {"x", a}});
//
// Options name shared variables' updates and givens (options.hpp, shared.hpp); function({}, {}, {.updates = ...}) has no result.
// function() takes a snapshot, rewrites it, fuses, plans, and compiles all kernels together. A call runs them on the
// function's device, in order of its default stream; reading a result waits for it. New shapes compile nothing.
// Several threads may call one Function at once. A result that the caller holds is never overwritten; a result that was
// dropped may be reused by the next call. No result shares elements with another one, with an input or with a constant:
// one that would (an output given twice, an input or a view of one) is copied, unless Options::share_results says that
// it may. Handles to a Function share everything; copy() makes one with other shared variables, part() one with some of the results. See tests/function/function_test.cpp.
#pragma once
#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/call_plan.hpp>
#include <damo/graph.hpp>
#include <damo/options.hpp>
#include <damo/profile.hpp>

namespace damo {

class Executor;
struct FunctionReport;  // report.hpp

/// The results of a call: a vector that is an Array where there is one result. The memory of one that is dropped serves the thread's next calls; that of one moved
/// to a std::vector is the caller's.
class Results : public std::vector<Array> {
 public:
  using std::vector<Array>::vector;
  Results() = default;
  Results(const Results&) = default;
  Results(Results&&) noexcept = default;
  Results& operator=(const Results&) = default;
  Results& operator=(Results&&) noexcept = default;
  ~Results();
  Results(std::vector<Array> arrays) : std::vector<Array>(std::move(arrays)) {}
  operator Array() const& { return only(); }
  operator Array() && { return only(); }
  /// f(a) + 1: arithmetic takes it as an Array.
  operator ArrayOperand() const { return only(); }

 private:
  const Array& only() const;
};

/// One kernel of a Function, for explain().
struct KernelInfo {
  std::string name;
  std::string layout;      ///< access classes it was compiled for
  std::string source;      ///< as compiled
  int registers = 0;       ///< a thread; 0 on a CPU
  int local_bytes = 0;     ///< spills and arrays, a thread
};

/// What building a Function took.
struct BuildReport {
  double graph_milliseconds = 0;    ///< snapshot, rewrites, fusion, plan
  double compile_milliseconds = 0;  ///< make_thunk and all kernels
  std::vector<PassReport> passes;
};

/// What a call of a Function with Options::nan_guard throws: which op, built where, or which input or shared variable, has values that are not finite; its
/// operands and the ranges of their values.
struct NotFiniteError : UserError {
  using UserError::UserError;
};

/// An input by its Variable's name.
struct NamedArray {
  std::string_view name;
  Array value;
};

class Function {
 public:
  /// Throws TypeError, ShapeError or DeviceError for inputs that do not fit, naming input and remedy. Inputs at the end that have defaults (Options::defaults) may
  /// be left out.
  Results call(std::span<const Array> inputs) const;
  /// The same, and takes the Arrays: results may be written over those inputs that Options::donate names.
  Results call_with(std::span<Array> inputs) const;
  template <class... Arrays>
  Results operator()(Arrays&&... inputs) const {
    Array arrays[] = {Array(std::forward<Arrays>(inputs))...};
    return call_with(std::span<Array>(arrays, sizeof...(inputs)));
  }
  Results operator()() const { return call(std::span<const Array>()); }
  /// The first n results, for structured bindings. Throws GraphError if there are fewer.
  template <std::size_t n, class... Arrays>
  std::array<Array, n> call(Arrays&&... inputs) const {
    Results results = (*this)(std::forward<Arrays>(inputs)...);
    require_results(results.size(), n);
    return take<n>(results, std::make_index_sequence<n>());
  }

  /// In any order; inputs that have defaults may be left out. GraphError for a name that no input has or several have, one given twice, and an input
  /// without default that is missing. Costs a search among the inputs' names beside the call.
  Results call_named(std::span<const NamedArray> inputs) const;
  Results call_named(std::initializer_list<NamedArray> inputs) const { return call_named(std::span(inputs.begin(), inputs.size())); }

  /// A Function of its own that reads and updates other shared variables: {{w, v}} puts v in w's place. All at once: {{w, v}, {v, w}} exchanges two of its own,
  /// where they are read and where they are updated. The rest is the same, kernels too: nothing is
  /// rewritten, nothing compiles. GraphError for a Variable that is no shared one of this Function or is named twice, or a replacement that is in it already;
  /// TypeError or ShapeError for a replacement of another type; DeviceError for one on another device.
  Function copy(std::span<const Assignment> swap = {}, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) const;
  Function copy(std::initializer_list<Assignment> swap, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) const {
    return copy(std::span(swap.begin(), swap.size()), where);
  }
  /// A Function of the same inputs that computes these results, by position, and no more than they need; updates: and the new values of shared variables.
  /// Fused kernels are taken apart and fused anew for what is left. GraphError for a result that there is not.
  Function part(std::span<const int> results, bool updates = true, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) const;
  Function part(std::initializer_list<int> results, bool updates = true, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) const {
    return part(std::span(results.begin(), results.size()), updates, where);
  }

  const std::string& name() const;
  Device device() const;
  /// The graph as it runs: after rewrites and fusion.
  const FunctionGraph& graph() const;
  const BuildReport& build_report() const;
  std::vector<KernelInfo> kernels() const;
  /// Requires Options::profile.
  Profile profile() const;
  /// Text: nodes in order, what each fused, its kernel's layout, registers and spills, what the passes took.
  std::string explain() const;
  /// The same for programs and as a page (report.hpp): of each node lines, reasons, bytes, floor, registers, occupancy; and times where
  /// Options::profile is set.
  FunctionReport report() const;
  /// What a call with inputs of these shapes, in C order, takes of the device's memory, workspaces of kernels and libraries too; nothing runs and no array is allocated.
  /// Kernels that such a call would compile are compiled, since they decide what they need. Throws ShapeError as the call would. A call whose plan does not fit is an OutOfMemoryError before anything runs.
  CallPlan plan(std::span<const Shape> shapes) const;
  CallPlan plan(std::initializer_list<Shape> shapes) const { return plan(std::span(shapes.begin(), shapes.size())); }
  /// Gives back temporaries and kept results of calls that are over.
  void free_memory() const;

 private:
  friend Function function(std::span<const Variable>, std::span<const Variable>, const Options&, SourceLine);
  struct Data;
  /// Throws GraphError if there is none any more.
  const Data& held() const;
  explicit Function(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  FunctionGraph swapped(std::span<const Assignment> swap) const;
  Function rebuilt(FunctionGraph graph, SourceLine where) const;
  Results call_otherwise(std::span<const Array> inputs) const;
  static void require_results(std::size_t have, std::size_t wanted);
  template <std::size_t n, std::size_t... i>
  static std::array<Array, n> take(Results& results, std::index_sequence<i...>) {
    return {std::move(results[i])...};
  }
  std::shared_ptr<Data> data_;
};

/// Throws GraphError for an input that is missing, given twice, computed, constant or (unless allowed) unused; CompileError
/// for a kernel that does not compile. Cost: linear in the graph, then the compiles; none for kernels in the cache.
Function function(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options = {},
                  SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Function function(std::initializer_list<Variable> inputs, std::initializer_list<Variable> outputs, const Options& options = {},
                         SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return function(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), options, where);
}
inline Function function(std::initializer_list<Variable> inputs, std::span<const Variable> outputs, const Options& options = {},
                         SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return function(std::span(inputs.begin(), inputs.size()), outputs, options, where);
}
inline Function function(std::span<const Variable> inputs, std::initializer_list<Variable> outputs, const Options& options = {},
                         SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return function(inputs, std::span(outputs.begin(), outputs.size()), options, where);
}

}  // namespace damo
