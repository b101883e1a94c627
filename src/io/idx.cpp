#include <damo/io/idx.hpp>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "graph/base/characters.hpp"
#include "io/gzip.hpp"

namespace damo::idx {
namespace {

constexpr std::pair<int, DType> kCodes[] = {{0x08, uint8}, {0x09, int8}, {0x0b, int16}, {0x0c, int32}, {0x0d, float32}, {0x0e, float64}};

Array read(io::Source& source, Device device) {
  const auto head = source.read_number<std::array<std::uint8_t, 4>>("IDX's first bytes");
  const auto code = std::find_if(std::begin(kCodes), std::end(kCodes), [&](const auto& known) { return known.first == head[2]; });
  if (head[0] != 0 || head[1] != 0) source.fail_at(0, "expected an IDX file, which begins with two zeros");
  if (code == std::end(kCodes)) source.fail_at(2, "expected the code of a dtype (8, 9, 11 to 14), found " + std::to_string(head[2]));
  std::vector<std::int64_t> extents(head[3]);
  for (std::int64_t& extent : extents) extent = __builtin_bswap32(source.read_number<std::uint32_t>("extents"));
  const Array array = source.read_array(code->second, source.checked_shape(extents, code->second), true, device);
  source.require_end();
  return array;
}

std::string file_of(const std::string& folder, const std::string& name) {
  const std::string plain = folder + "/" + name, packed = plain + ".gz";
  std::error_code none;
  if (std::filesystem::exists(plain, none)) return plain;
  if (std::filesystem::exists(packed, none)) return packed;
  throw FileError("idx: " + printable(plain) + " is not there, nor with .gz", "idx::load reads a file of any name");
}

}  // namespace

Array load(const std::string& path, Device device) {
  const auto source = io::open_maybe_compressed("idx", path);
  return read(*source, device);
}

void save(const std::string& path, const Array& array) {
  io::require_elements("idx", array);
  const auto code = std::find_if(std::begin(kCodes), std::end(kCodes), [&](const auto& known) { return known.second == array.dtype(); });
  if (code == std::end(kCodes)) {
    throw TypeError("idx: IDX has no " + std::string(name(array.dtype())), "astype() to one of uint8, int8, int16, int32, float32, float64");
  }
  std::vector<std::byte> head{std::byte{0}, std::byte{0}, static_cast<std::byte>(code->first), static_cast<std::byte>(array.rank())};
  for (const std::int64_t extent : array.shape()) {
    if (extent > 0xffffffffll) throw ShapeError("idx: IDX has extents of 32 bits, this array is " + to_string(array.shape()), "save it by npy::save, whose extents have 64");
    for (int shift = 24; shift >= 0; shift -= 8) head.push_back(static_cast<std::byte>(extent >> shift));
  }
  std::vector<std::byte> elements(array.nbytes());
  if (!elements.empty()) array.to_host(elements.data());
  io::reverse_bytes(elements, itemsize(array.dtype()));
  io::AtomicFile file("idx", path);
  if (path.ends_with(".gz")) {
    io::write_compressed(file, {head, elements});
  } else {
    file.write(head);
    file.write(elements);
  }
  file.commit();
}

Set load_set(const std::string& folder, Device device) {
  const auto labels = [&](const char* name) {
    const Array bytes = load(file_of(folder, name), device);
    const std::vector<double> values = bytes.to_doubles();
    return Array::from(std::vector<std::int64_t>(values.begin(), values.end()), bytes.shape(), device);
  };
  const auto images = [&](const char* name) { return load(file_of(folder, name), device); };
  return {images("train-images-idx3-ubyte"), labels("train-labels-idx1-ubyte"), images("t10k-images-idx3-ubyte"), labels("t10k-labels-idx1-ubyte")};
}

}  // namespace damo::idx
