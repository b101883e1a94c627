// How errors speak of numbers of things.
#pragma once
#include <concepts>
#include <string>

namespace damo {

/// "1 input", "2 inputs"
std::string counted(std::integral auto count, const std::string& noun) { return std::to_string(count) + " " + noun + (count == 1 ? "" : "s"); }
/// "1 axis", "2 axes"
std::string counted_axes(std::integral auto count) { return std::to_string(count) + (count == 1 ? " axis" : " axes"); }
std::string were_given(std::integral auto count) { return std::to_string(count) + (count == 1 ? " was given" : " were given"); }

}  // namespace damo
