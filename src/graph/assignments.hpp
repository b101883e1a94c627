// What is checked of the pairs that function() is given: Options::updates and Options::givens.
#pragma once
#include <span>

#include <damo/variable.hpp>

namespace damo {

/// Throws GraphError for an empty Variable, an update of what is not shared and a second update of one variable; TypeError
/// or ShapeError for a new value that its variable can never hold.
void check_updates(std::span<const Assignment> updates);

}  // namespace damo
