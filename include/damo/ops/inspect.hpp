// Looking at values while a Function runs:
//
//   Variable h = print(tanh(x), "h", {"shape", "min", "max"});     // h float32: shape (64, 10), min -0.98, max 0.99
//   Variable k = observe(h, [](const Array& value) { ... });
//
// Both give x itself, and its gradient is theirs. They see the value at each call, where the result is needed: what no output depends on does not run,
// and equal prints of one Variable are one. Cost: such an op ends a fused kernel on either side, x is in memory, a copy of it where others read it later,
// and a GPU is waited for. See tests/function/inspect_test.cpp.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/variable.hpp>

namespace damo {

/// One line a call on standard output: the message, the dtype and what is asked for: "value", "shape", "strides", "min", "max", "mean", "finite" (how many
/// elements are neither NaN nor infinite). OptionError for another word.
Variable print(const Operand& x, std::string message, std::vector<std::string> what = {"value"});

/// look is called with the value, on the thread that calls the Function; what it throws leaves the call. copy() what is to be kept: the memory is used again. Two
/// of these are never one.
Variable observe(const Operand& x, std::function<void(const Array& value)> look);

}  // namespace damo
