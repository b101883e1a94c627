#include <damo/array_choose.hpp>

#include <damo/array_shape.hpp>
#include "ops/both_worlds.hpp"
#include "ops/choose_of.hpp"

namespace damo {

Array choose(const Array& which, std::span<const Array> choices) {
  for (const Array& choice : choices) given_array("choose", choice);
  return asked_at_once("choose", [&] { return ChooseOf<OfArrays>::choose(given_array("choose", which), choices); }, which, choices);
}

std::vector<Array> meshgrid(std::span<const Array> vectors, std::string_view indexing) {
  for (const Array& vector : vectors) given_array("meshgrid", vector);
  std::vector<Array> grids;
  for (const Array& grid : ChooseOf<OfArrays>::meshgrid(vectors, indexing)) grids.push_back(vectors.size() == 1 ? grid.copy() : grid);
  return grids;
}

}  // namespace damo
