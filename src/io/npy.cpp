#include <damo/io/npy.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "graph/base/characters.hpp"
#include "graph/base/environment.hpp"
#include "io/atomic_file.hpp"
#include "io/npy_member.hpp"

namespace damo {
namespace io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
/// NumPy refuses longer heads too, unless told to trust the file.
constexpr std::uint64_t kMostHeadBytes = 1 << 16;

struct Head {
  DType dtype = float32;
  bool order_is_foreign = false, is_fortran = false;
  std::vector<std::int64_t> extents;
};

/// The head's text, the literal of a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeadReader {
 public:
  HeadReader(const Source& source, std::string_view text, std::uint64_t offset) : source_(source), text_(text), offset_(offset) {}

  Head read() {
    Head head;
    bool has_dtype = false, has_order = false, has_shape = false;
    expect("{");
    while (!accept("}")) {
      const std::uint64_t key_at = at_;
      const std::string key = quoted();
      expect(":");
      bool& has = key == "descr" ? has_dtype : key == "fortran_order" ? has_order : has_shape;
      if ((key != "descr" && key != "fortran_order" && key != "shape") || has) {
        at_ = key_at;
        fail("expected one each of 'descr', 'fortran_order' and 'shape'");
      }
      has = true;
      if (key == "descr") dtype(head);
      else if (key == "shape") shape(head);
      else head.is_fortran = boolean();
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("expected blanks to the head's end");
    if (!has_dtype || !has_order || !has_shape) fail("expected 'descr', 'fortran_order' and 'shape'");
    return head;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { source_.fail_at(offset_ + at_, message); }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool accept(std::string_view word) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail("expected " + std::string(word) + " in the head");
  }
  std::string quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("expected a text in quotation marks");
    const std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  bool boolean() {
    if (accept("True")) return true;
    expect("False");
    return false;
  }

  void dtype(Head& head) {
    skip_blanks();
    const std::size_t begin = at_;
    if (accept("[")) {
      at_ = begin;
      fail("expected one of Damo's dtypes, found records");
    }
    const std::string code = quoted();
    const bool has_order = std::string_view("<>|=").find(code.empty() ? ' ' : code[0]) != std::string_view::npos;
    const std::string_view bare = std::string_view(code).substr(has_order ? 1 : 0);
    std::optional<DType> found = find(kCodes, bare);
    if (!found && !has_order) found = find(kNames, bare);
    if (!found) {
      at_ = begin;
      fail("expected one of Damo's dtypes, found '" + printable(code, kMostOfAText) + "'");
    }
    head.dtype = *found;
    head.order_is_foreign = has_order && code[0] == '>';
  }

  using Known = std::pair<std::string_view, DType>;
  static std::optional<DType> find(std::span<const Known> known, std::string_view text) {
    for (const auto& [word, dtype] : known) {
      if (word == text) return dtype;
    }
    return std::nullopt;
  }
  /// As numpy.dtype() takes them, behind a letter of the byte order or without one: then it is this machine's.
  static constexpr Known kCodes[] = {{"b1", bool_}, {"i1", int8}, {"i2", int16}, {"i4", int32}, {"i8", int64}, {"u1", uint8}, {"u2", uint16}, {"u4", uint32}, {"u8", uint64},
                                     {"f2", float16}, {"f4", float32}, {"f8", float64}, {"?", bool_}, {"b", int8}, {"h", int16}, {"i", int32}, {"l", int64}, {"q", int64}, {"p", int64},
                                     {"B", uint8}, {"H", uint16}, {"I", uint32}, {"L", uint64}, {"Q", uint64}, {"P", uint64}, {"e", float16}, {"f", float32}, {"d", float64}};
  /// Those that stand alone.
  static constexpr Known kNames[] = {{"bool", bool_}, {"int8", int8}, {"int16", int16}, {"int32", int32}, {"int64", int64}, {"uint8", uint8}, {"uint16", uint16}, {"uint32", uint32}, {"uint64", uint64},
                                     {"float16", float16}, {"float32", float32}, {"float64", float64}, {"half", float16}, {"single", float32}, {"double", float64}, {"float", float64}, {"bool_", bool_},
                                     {"byte", int8}, {"short", int16}, {"intc", int32}, {"int", int64}, {"int_", int64}, {"long", int64}, {"longlong", int64}, {"intp", int64}, {"ubyte", uint8},
                                     {"ushort", uint16}, {"uintc", uint32}, {"uint", uint64}, {"ulong", uint64}, {"ulonglong", uint64}, {"uintp", uint64}};

  void shape(Head& head) {
    expect("(");
    while (!accept(")")) {
      skip_blanks();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc()) fail("expected an extent");
      at_ = static_cast<std::size_t>(end - text_.data());
      accept("L");  // Python 2 wrote it behind long numbers
      head.extents.push_back(extent);
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
  }

  const Source& source_;
  std::string_view text_;
  std::uint64_t offset_, at_ = 0;
};

std::string code_of(DType dtype) {
  if (dtype == bfloat16 || is_float8(dtype)) {
    const std::string own(name(dtype));
    throw TypeError("npy: NumPy has no " + own, "astype(x, float32) holds all its values; a .safetensors file keeps " + own);
  }
  const char letter = dtype == bool_ ? 'b' : is_floating(dtype) ? 'f' : is_signed(dtype) ? 'i' : 'u';
  return {itemsize(dtype) == 1 ? '|' : '<', letter, static_cast<char>('0' + itemsize(dtype))};
}

}  // namespace

Array read_npy(Source& source, Device device) {
  std::array<char, 8> begin;
  source.read(std::as_writable_bytes(std::span(begin)), "npy's first bytes");
  if (std::string_view(begin.data(), 6) != kMagic) source.fail_at(0, "expected an npy file, which begins with \\x93NUMPY");
  const int version = begin[6];
  if (version < 1 || version > 3) source.fail_at(6, "expected version 1, 2 or 3, found " + std::to_string(version));
  const std::uint64_t length = version == 1 ? source.read_number<std::uint16_t>("the head's length") : source.read_number<std::uint32_t>("the head's length");
  if (length > kMostHeadBytes) source.fail("expected a head of at most " + std::to_string(kMostHeadBytes) + " bytes, found " + std::to_string(length));
  const std::uint64_t head_at = source.offset();
  const std::vector<std::byte> text = source.read_bytes(length, "the head");
  const Head head = HeadReader(source, {reinterpret_cast<const char*>(text.data()), text.size()}, head_at).read();
  Shape shape = source.checked_shape(head.extents, head.dtype);
  if (head.is_fortran) std::reverse(shape.begin(), shape.end());
  const Array array = source.read_array(head.dtype, shape, head.order_is_foreign, device);
  source.require_end();
  return head.is_fortran ? array.transpose() : array;
}

std::string npy_head(const Array& array) {
  std::string text = "{'descr': '" + code_of(array.dtype()) + "', 'fortran_order': False, 'shape': " + to_string(array.shape()) + ", }";
  constexpr std::size_t kBefore = 10, kAlignment = 64;  // the elements begin at a multiple, for those who map the file
  text.resize((kBefore + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kBefore - 1, ' ');
  text += '\n';
  const std::string length{static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return std::string(kMagic) + '\x01' + '\x00' + length + text;
}

}  // namespace io

const Array& NamedArrays::at(std::string_view name) const {
  if (const auto found = find(name); found != end()) return found->second;
  constexpr std::size_t kMostNames = 20;
  ErrorParts parts;
  parts.message = "NamedArrays: there is no '" + printable(name, io::kMostOfAName) + (empty() ? "', nor any other" : "'; there are");
  std::vector<std::string_view> names;
  for (const auto& [other, array] : *this) {
    if (names.size() < kMostNames) parts.operands.push_back(printable(other, io::kMostOfAName) + " " + describe(array));
    names.emplace_back(other);
  }
  if (names.size() > kMostNames) parts.operands.push_back("and " + std::to_string(names.size() - kMostNames) + " more");
  if (const std::string_view like = nearest(name, names); !like.empty()) parts.remedy = "the nearest is '" + printable(like, io::kMostOfAName) + "'";
  throw FileError(parts);
}
Array& NamedArrays::at(std::string_view name) { return const_cast<Array&>(std::as_const(*this).at(name)); }

Array npy::load(const std::string& path, Device device) {
  io::FileSource source("npy", path);
  return io::read_npy(source, device);
}

void npy::save(const std::string& path, const Array& array) {
  io::require_elements("npy", array);
  const std::string head = io::npy_head(array);
  std::vector<std::byte> storage;
  const std::span bytes = io::host_bytes(array, storage);
  io::AtomicFile file("npy", path);
  file.write(head);
  file.write(bytes);
  file.commit();
}

}  // namespace damo
