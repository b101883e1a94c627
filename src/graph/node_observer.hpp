// Who is told of each node that Op::apply builds on this thread: test values (test_values.hpp) are computed there.
#pragma once
#include <functional>

#include <damo/op.hpp>

namespace damo {

/// Null: nobody. What it throws is an error of the node, with its operands and line.
inline thread_local std::function<void(const Apply&)>* node_observer = nullptr;

}  // namespace damo
