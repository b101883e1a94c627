// Which node an error comes from. What an op of a program's throws that is no Error becomes one, so that it can have the node and its line; std::bad_alloc stays what it is.
#pragma once
#include <exception>
#include <new>
#include <string>

#include <damo/error.hpp>
#include "graph/user_line.hpp"
#include "runtime/exec/program.hpp"

namespace damo {

/// Rethrows with the node's op as a GraphError what is no Error; the original is nested in it.
template <class Work>
auto as_error(const Program& program, int node, Work&& work) {
  const auto threw = [&] { return program.nodes()[static_cast<std::size_t>(node)].apply.op().name() + ": its code threw "; };
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(GraphError(threw() + "an exception: " + error.what()));
  } catch (...) {
    std::throw_with_nested(GraphError(threw() + "something that is no std::exception"));
  }
}

/// Rethrows with the node's place in the function.
template <class Work>
auto blame(const Program& program, int node, Work&& work) {
  try {
    return as_error(program, node, work);
  } catch (Error& error) {
    add_node(error, program.nodes()[static_cast<std::size_t>(node)].apply.where(), program.describe(node));
    throw;
  }
}

}  // namespace damo
