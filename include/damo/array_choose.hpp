// Elements out of several Arrays, and grids, at once: see ops/choose.hpp for what they mean. See tests/function/choose_test.cpp.
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <damo/array.hpp>

namespace damo {

Array choose(const Array& which, std::span<const Array> choices);
inline Array choose(const Array& which, std::initializer_list<Array> choices) { return choose(which, std::span(choices.begin(), choices.size())); }
std::vector<Array> meshgrid(std::span<const Array> vectors, std::string_view indexing = "xy");
inline std::vector<Array> meshgrid(std::initializer_list<Array> vectors, std::string_view indexing = "xy") { return meshgrid(std::span(vectors.begin(), vectors.size()), indexing); }

}  // namespace damo
