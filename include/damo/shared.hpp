// Shared variables: values on a device that Functions read and update, for what a training step keeps from call to call.
//
//   Shared w = shared("w", Array::zeros({784, 10})), b = shared("b", Array::zeros({10}));
//   Variable cost = mean(...x * w + b...);
//   std::vector<Variable> d = grad(cost, {w, b});
//   Function train = function({x, y}, {cost}, {.updates = {{w, w - 0.1 * d[0]}, {b, b - 0.1 * d[1]}}});
//   train(images, labels);                                         // w and b have new values
//
// A shared variable is a Variable: ops, grad() and givens take it. A Function finds those of its graph itself, they are
// never among its inputs; all Functions see one value. Updates happen all at once when a call has computed everything: each
// new value is computed from the values before the call, and so are the results.
//
// Memory. A new value that one elementwise kernel (or an op that overwrites) computes is written where the old one lies,
// if no other node needs the old one then and no call on another thread reads it; explain() says which. Else it gets
// a buffer of its own and the old one goes back to the pool. Nobody outside ever shares the buffer: array() and
// set() copy, results that are a shared variable's value are copies.
//
// Threads. A call begins with the values of one moment, all of its variables' together, and keeps them to its end. Calls
// that update one variable, and set(), run one after the other: each sees the one before. A call that only reads never
// waits but for the moment in which values are written in place. If a call fails, variables keep the values they had;
// one that was being written in place has none then, and using it is a DeviceError until set() gives it one. A call
// whose data an op refuses (Op::may_refuse), or in which shapes that follow from data do not fit, is none of these: it
// has written nothing in place.
// See tests/function/shared_test.cpp and examples/13_shared_variables.cpp.
#pragma once
#include <string>

#include <damo/array.hpp>
#include <damo/variable.hpp>

namespace damo {

class Shared : public Variable {
 public:
  /// A handle to the same shared variable. Throws GraphError for any other Variable.
  explicit Shared(const Variable& variable);

  Device device() const;
  /// A copy of the present value, in C order: costs a pass over it.
  Array array() const;
  /// Replaces the value by a copy, for all Functions; calls that run keep what they began with. Waits for calls that
  /// update the variable. Throws TypeError, ShapeError or DeviceError for an Array of another dtype, rank, declared
  /// extent or device.
  void set(const Array& value) const;
};

/// A shared variable of the array's dtype and shape, on its device, beginning with a copy of it. name: for prints and errors.
Shared shared(std::string name, const Array& value, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
/// The same where extents may change from value to value: those that are kUnknown in dims. The others are the array's.
Shared shared(std::string name, const Array& value, const Shape& dims, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

}  // namespace damo
