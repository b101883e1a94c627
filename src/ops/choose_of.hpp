// What the functions of ops/choose.hpp and array_choose.hpp are made of, for a World of values (both_worlds.hpp).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <damo/axes.hpp>
#include <damo/dtype.hpp>
#include <damo/error.hpp>

namespace damo {

template <class World>
struct ChooseOf {
  using Value = typename World::Value;

  static Value choose(const Value& which, std::span<const Value> choices) {
    if (choices.empty()) throw GraphError("choose: there are no choices", "give it one or more");
    if (is_floating(which.dtype())) throw TypeError("choose: `which` is " + std::string(name(which.dtype())) + ", which numbers nothing", "cast(which, int64)");
    std::vector<std::int64_t> numbers(choices.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
    const Value taken = take(World::numbers(numbers, which), which.dtype() == bool_ ? World::converted(which, int64) : which, 0);  // checks them, and counts from the end
    // The dtype of all at once: two after two, uint8, int8 and float16 would be float32.
    std::vector<Promotable> dtypes;
    for (const Value& choice : choices) dtypes.push_back({choice.dtype()});
    const DType dtype = result_type(dtypes);
    Value result = second(World::converted(taken, dtype), World::converted(choices[0], dtype));  // `which` takes part with its shape alone
    for (std::size_t i = 1; i < choices.size(); ++i) result = where(eq(taken, numbers[i]), World::converted(choices[i], dtype), result);
    return result;
  }

  static std::vector<Value> meshgrid(std::span<const Value> vectors, std::string_view indexing) {
    if (indexing != "xy" && indexing != "ij") throw OptionError("meshgrid: indexing is \"" + std::string(indexing) + "\"", "it is \"xy\" or \"ij\"");
    const std::size_t count = vectors.size();
    std::vector<Value> along;
    for (std::size_t i = 0; i < count; ++i) {
      if (World::dims(vectors[i]).rank() != 1) throw ShapeError("meshgrid: input " + std::to_string(i) + " has " + std::to_string(World::dims(vectors[i]).rank()) + " axes, not 1", "flatten it");
      std::vector<int> pattern(count, kNewAxis);
      pattern[indexing == "xy" && count > 1 && i < 2 ? 1 - i : i] = 0;
      along.push_back(dimshuffle(vectors[i], pattern));
    }
    std::vector<Value> grids;
    for (std::size_t i = 0; i < count; ++i) {
      Value grid = along[i];
      for (std::size_t k = 0; k < count; ++k) {
        if (k != i) grid = second(World::converted(along[k], vectors[i].dtype()), grid);  // of which the shape alone counts
      }
      grids.push_back(grid);
    }
    return grids;
  }
};

}  // namespace damo
