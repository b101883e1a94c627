// The head is JSON, whose words come from nlohmann-json's parser. What they say is checked as they come; no tree of them is made, for that library
// ends the process where it has no memory to take one down.
#include <damo/io/safetensors.hpp>

#include <algorithm>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "graph/base/characters.hpp"
#include "io/atomic_file.hpp"
#include "io/source.hpp"

namespace damo::safetensors {
namespace {

constexpr std::uint64_t kMostHeadBytes = 100'000'000;  // the format's own bound
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, DType> kNames[] = {{"BOOL", bool_}, {"I8", int8}, {"I16", int16}, {"I32", int32}, {"I64", int64}, {"U8", uint8}, {"U16", uint16},
                                                         {"U32", uint32}, {"U64", uint64}, {"F8_E4M3", float8_e4m3}, {"F8_E5M2", float8_e5m2}, {"F16", float16}, {"BF16", bfloat16}, {"F32", float32}, {"F64", float64}};

std::string_view name_of(DType dtype) {
  return std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& known) { return known.second == dtype; })->first;
}

struct Tensor {
  std::string name;
  DType dtype = float32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

struct Head {
  std::vector<Tensor> tensors;  // in the order of their bytes
  Metadata metadata;
};

/// What nlohmann's parser calls for each word of a head: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}.
class HeadReader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  HeadReader(const io::Source& source, Head& head) : source_(source), head_(head) {}

  bool start_object(std::size_t) {
    if (++depth_ > 2) refuse();
    if (depth_ == 2 && !is_metadata()) tensor_ = Tensor{name_}, shape_.reset(), offsets_.reset(), has_dtype_ = false;
    return true;
  }
  bool key(std::string& word) {
    if (depth_ == 1) {
      if (!names_.insert(word).second) source_.fail_at(8, "expected each name once, found " + printable(word, io::kMostOfAName) + " twice");
      name_ = word;
    } else {
      const bool is_again = word == "dtype" ? has_dtype_ : word == "shape" ? shape_.has_value() : word == "data_offsets" ? offsets_.has_value() : true;
      if (is_metadata() ? head_.metadata.contains(word) : is_again) refuse();
      field_ = word;
    }
    return true;
  }
  bool string(std::string& word) {
    if (depth_ != 2 || list_ || (!is_metadata() && field_ != "dtype")) refuse();
    if (is_metadata()) {
      head_.metadata.emplace(field_, word);
      return true;
    }
    const auto known = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& entry) { return entry.first == word; });
    if (known == std::end(kNames)) fail("one of Damo's dtypes, found " + printable(word, io::kMostOfAText));
    tensor_.dtype = known->second;
    return has_dtype_ = true;
  }
  bool start_array(std::size_t) {
    if (depth_ != 2 || list_ || is_metadata() || field_ == "dtype") refuse();
    list_ = &(field_ == "shape" ? shape_ : offsets_).emplace();
    return true;
  }
  bool number_unsigned(number_unsigned_t number) {
    if (!list_ || number >> 63 || list_->size() == (field_ == "shape" ? kMaxRank : 2)) refuse();
    list_->push_back(static_cast<std::int64_t>(number));
    return true;
  }
  bool end_array() {
    list_ = nullptr;
    return true;
  }
  bool end_object() {
    if (--depth_ == 1 && !is_metadata()) finish();
    return true;
  }
  bool null() { return refuse(); }
  bool boolean(bool) { return refuse(); }
  bool number_integer(number_integer_t) { return refuse(); }
  bool number_float(number_float_t, const std::string&) { return refuse(); }
  bool binary(binary_t&) { return refuse(); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) { source_.fail_at(8 + at, "expected JSON"); }

 private:
  bool is_metadata() const { return name_ == kMetadata; }
  [[noreturn]] void fail(const std::string& expected) const { source_.fail_at(8, "tensor " + printable(name_, io::kMostOfAName) + ": expected " + expected); }
  [[noreturn]] bool refuse() const {
    if (depth_ == 0) source_.fail_at(8, "expected a JSON object");
    if (is_metadata()) source_.fail_at(8, "expected texts, each of a name of its own, as __metadata__");
    fail("dtype, a shape of at most " + std::to_string(kMaxRank) + " extents and two data_offsets, and nothing else");
  }
  void finish() {
    if (!has_dtype_ || !shape_ || !offsets_ || offsets_->size() != 2) refuse();
    tensor_.shape = source_.checked_shape(*shape_, tensor_.dtype);
    tensor_.begin = static_cast<std::uint64_t>((*offsets_)[0]);
    tensor_.end = static_cast<std::uint64_t>((*offsets_)[1]);
    const auto bytes = static_cast<std::uint64_t>(tensor_.shape.size()) * itemsize(tensor_.dtype);
    if (tensor_.end < tensor_.begin || tensor_.end - tensor_.begin != bytes) {
      fail("offsets " + std::to_string(bytes) + " bytes apart, as " + std::string(name_of(tensor_.dtype)) + " " + to_string(tensor_.shape) + " takes, found " + std::to_string(tensor_.begin) + " and " +
           std::to_string(tensor_.end));
    }
    head_.tensors.push_back(tensor_);
  }

  const io::Source& source_;
  Head& head_;
  int depth_ = 0;
  std::set<std::string> names_;
  std::string name_, field_;
  Tensor tensor_;
  bool has_dtype_ = false;
  std::optional<std::vector<std::int64_t>> shape_, offsets_;
  std::vector<std::int64_t>* list_ = nullptr;  // the one that is being read
};

Head read_head(io::FileSource& source) {
  const auto length = source.read_number<std::uint64_t>("the head's length");
  if (length > kMostHeadBytes || length > source.bytes_left()) {
    source.fail_at(0, "expected a head of at most " + std::to_string(std::min(kMostHeadBytes, source.bytes_left())) + " bytes, found " + std::to_string(length));
  }
  const std::vector<std::byte> text = source.read_bytes(length, "the head");
  Head head;
  HeadReader reader(source, head);
  const auto* begin = reinterpret_cast<const char*>(text.data());
  nlohmann::json::sax_parse(begin, begin + text.size(), &reader);
  std::sort(head.tensors.begin(), head.tensors.end(), [](const Tensor& a, const Tensor& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t at = 0;
  for (const Tensor& tensor : head.tensors) {
    if (tensor.begin != at) source.fail_at(8, "tensor " + printable(tensor.name, io::kMostOfAName) + ": expected it to begin at " + std::to_string(at) + ", where the one before ends, found " + std::to_string(tensor.begin));
    at = tensor.end;
  }
  if (at != source.bytes_left()) source.fail("expected " + std::to_string(at) + " bytes of elements, found " + std::to_string(source.bytes_left()));
  return head;
}

}  // namespace

NamedArrays load(const std::string& path, Device device) {
  io::FileSource source("safetensors", path);
  NamedArrays tensors;
  for (const Tensor& tensor : read_head(source).tensors) tensors.emplace(tensor.name, source.read_array(tensor.dtype, tensor.shape, false, device));
  return tensors;
}

Metadata metadata(const std::string& path) {
  io::FileSource source("safetensors", path);
  return read_head(source).metadata;
}

void save(const std::string& path, const NamedArrays& tensors, const Metadata& metadata) {
  if (tensors.contains(kMetadata)) throw OptionError("safetensors: no tensor may be called __metadata__", "give it another name; what is said of the file goes into metadata");
  for (const auto& [name, array] : tensors) io::require_elements("safetensors", array, name);
  std::vector<const NamedArrays::value_type*> order;
  for (const auto& entry : tensors) order.push_back(&entry);
  // The largest elements first: then each tensor begins at a multiple of its element's size.
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return itemsize(a->second.dtype()) > itemsize(b->second.dtype()); });
  io::AtomicFile file("safetensors", path);
  std::string head = "{";
  const auto quoted = [&](std::string_view text) {
    try {
      return nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {
      file.fail("a name or a text of the metadata is not UTF-8: '" + printable(text, io::kMostOfAName) + "'");
    }
  };
  const auto begin = [&](std::string_view name) { head += (head.size() > 1 ? "," : "") + quoted(name) + ":{"; };
  if (!metadata.empty()) {
    begin(kMetadata);
    for (const auto& [key, text] : metadata) head += (head.back() == '{' ? "" : ",") + quoted(key) + ":" + quoted(text);
    head += "}";
  }
  std::uint64_t at = 0;
  for (const auto* entry : order) {
    const Array& array = entry->second;
    begin(entry->first);
    head += "\"dtype\":\"" + std::string(name_of(array.dtype())) + "\",\"shape\":[";
    for (const std::int64_t extent : array.shape()) head += (head.back() == '[' ? "" : ",") + std::to_string(extent);
    head += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + array.nbytes()) + "]}";
    at += array.nbytes();
  }
  head += "}";
  head.resize((head.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = head.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(head);
  for (const auto* entry : order) {
    std::vector<std::byte> storage;
    file.write(io::host_bytes(entry->second, storage));
  }
  file.commit();
}

}  // namespace damo::safetensors
