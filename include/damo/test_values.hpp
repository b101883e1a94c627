// Test values: a graph is computed while it is built, so that a shape or a value that is wrong shows at the line that made it.
//
//   TestValues test;
//   auto x = matrix("x"), w = matrix("w");
//   test.set(x, Array::ones({64, 784}));
//   test.set(w, Array::zeros({784, 10}));
//   Variable h = dot(x, w);                 // computed at once: extents that do not fit are a ShapeError here, with this line
//   std::cout << test.of(h);
//
// While it lives every node that this thread builds on Variables with values is run, by itself, on the device. Constants and shared variables have values, the
// latter those of that moment. Nothing of the graph changes. Cost: each kind of node is compiled, and all values stay in memory: for finding
// errors, on small arrays. One at a time a thread: the newest is the one that is asked. See tests/function/test_values_test.cpp.
#pragma once
#include <memory>

#include <damo/array.hpp>
#include <damo/variable.hpp>

namespace damo {

class TestValues {
 public:
  explicit TestValues(Device device = Device());
  ~TestValues();
  TestValues(const TestValues&) = delete;
  TestValues& operator=(const TestValues&) = delete;

  /// The value of an input from now on. Throws GraphError for what is no input, TypeError, ShapeError or DeviceError for an Array that does not fit.
  void set(const Variable& input, const Array& value);
  /// Throws GraphError for a Variable without value: of inputs that have none, or built before they had, or while another one was asked.
  Array of(const Variable& variable) const;
  bool has(const Variable& variable) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace damo
