// What the pages of training share: their arguments, and pictures of pictures.
#pragma once
#include <cstdint>
#include <damo/array.hpp>
#include <damo/io/idx.hpp>
#include <optional>
#include <string>
#include <vector>

namespace examples {

/// PROGRAM [full] [seed=N] [FOLDER]: full: as long as it takes to reach the accuracy of docs/pipelines.md, else seconds; FOLDER: of a data set.
struct Arguments {
  bool full = false;
  std::uint64_t seed = 1;
  std::string folder;
};
Arguments arguments_of(int count, char** arguments);

/// A page's exit status where what it needs is not there.
inline constexpr int kSkipped = 77;

/// Fashion-MNIST from run.folder, or from where Debian's package dataset-fashion-mnist puts it. If it is not there, says so and gives nothing.
std::optional<damo::idx::Set> load_fashion(const Arguments& run);

/// Rows of square grey pictures, side by side, as SVG: each array (n, pixels), float32, from 0 to 1, is one row.
void save_pictures(const std::string& file, const std::vector<damo::Array>& rows);

/// Seconds since the process began to count: at the first call.
double seconds();

}  // namespace examples
