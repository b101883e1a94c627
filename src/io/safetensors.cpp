// The head is JSON, which nlohmann-json parses. What it says is checked against the file before anything is taken from it.
#include <damo/io/safetensors.hpp>

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "io/atomic_file.hpp"
#include "io/source.hpp"

namespace damo::safetensors {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostHeadBytes = 100'000'000;  // the format's own bound
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, DType> kNames[] = {{"BOOL", bool_}, {"I8", int8}, {"I16", int16}, {"I32", int32}, {"I64", int64}, {"U8", uint8}, {"U16", uint16},
                                                         {"U32", uint32}, {"U64", uint64}, {"F16", float16}, {"BF16", bfloat16}, {"F32", float32}, {"F64", float64}};

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

/// JSON of a file that anybody may have written: no name twice (the parser would keep the last), no depth that nothing here has.
Json parse(const io::Source& source, const std::vector<std::byte>& text) {
  std::vector<std::set<std::string>> names;
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if ((event == Event::object_start || event == Event::array_start) && depth > 2) source.fail_at(8, "expected JSON of a safetensors head, found deeper nesting");
    if (event == Event::key && !names.back().insert(value.get<std::string>()).second) source.fail_at(8, "expected each name once, found " + value.dump() + " twice");
    return true;
  };
  const auto* begin = reinterpret_cast<const char*>(text.data());
  try {
    return Json::parse(begin, begin + text.size(), look);
  } catch (const Json::parse_error& error) {
    source.fail_at(8 + error.byte, "expected JSON");
  }
}

Tensor tensor_of(const io::Source& source, const std::string& name, const Json& value) {
  const auto fail = [&](const std::string& expected) { source.fail_at(8, "tensor " + name + ": expected " + expected); };
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets")) fail("dtype, shape and data_offsets");
  const Json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  const auto is_count = [](const Json& number) { return number.is_number_unsigned() && number.get<std::uint64_t>() >> 63 == 0; };
  const auto are_counts = [&](const Json& list) { return list.is_array() && std::all_of(list.begin(), list.end(), is_count); };
  const auto known = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& entry) { return dtype.is_string() && entry.first == dtype.get_ref<const std::string&>(); });
  if (known == std::end(kNames)) fail("one of Damo's dtypes, found " + dtype.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!are_counts(shape)) fail("a list of extents as its shape");
  if (!are_counts(offsets) || offsets.size() != 2) fail("two offsets");
  Tensor tensor{name, known->second, source.checked_shape(shape.get<std::vector<std::int64_t>>(), known->second), offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
  const auto bytes = static_cast<std::uint64_t>(tensor.shape.size()) * itemsize(tensor.dtype);
  if (tensor.end < tensor.begin || tensor.end - tensor.begin != bytes) {
    fail("offsets " + std::to_string(bytes) + " bytes apart, as " + std::string(known->first) + " " + to_string(tensor.shape) + " takes, found " + offsets.dump());
  }
  return tensor;
}

Head read_head(io::FileSource& source) {
  const auto length = source.read_number<std::uint64_t>("the head's length");
  if (length > kMostHeadBytes || length > source.bytes_left()) {
    source.fail_at(0, "expected a head of at most " + std::to_string(std::min(kMostHeadBytes, source.bytes_left())) + " bytes, found " + std::to_string(length));
  }
  const Json json = parse(source, source.read_bytes(length, "the head"));
  if (!json.is_object()) source.fail_at(8, "expected a JSON object");
  Head head;
  for (const auto& [name, value] : json.items()) {
    if (name != kMetadata) {
      head.tensors.push_back(tensor_of(source, name, value));
      continue;
    }
    if (!value.is_object()) source.fail_at(8, "expected texts as __metadata__");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) source.fail_at(8, "expected texts as __metadata__");
      head.metadata.emplace(key, text.get<std::string>());
    }
  }
  std::sort(head.tensors.begin(), head.tensors.end(), [](const Tensor& a, const Tensor& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t at = 0;
  for (const Tensor& tensor : head.tensors) {
    if (tensor.begin != at) source.fail_at(8, "tensor " + tensor.name + ": expected it to begin at " + std::to_string(at) + ", where the one before ends, found " + std::to_string(tensor.begin));
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
  if (tensors.contains(kMetadata)) throw OptionError("safetensors: no tensor may be called __metadata__");
  std::vector<const NamedArrays::value_type*> order;
  for (const auto& entry : tensors) order.push_back(&entry);
  // The largest elements first: then each tensor begins at a multiple of its element's size.
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return itemsize(a->second.dtype()) > itemsize(b->second.dtype()); });
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json[std::string(kMetadata)] = metadata;
  std::uint64_t at = 0;
  for (const auto* entry : order) {
    const Array& array = entry->second;
    json[entry->first] = {{"dtype", name_of(array.dtype())}, {"shape", std::vector<std::int64_t>(array.shape().begin(), array.shape().end())}, {"data_offsets", {at, at + array.nbytes()}}};
    at += array.nbytes();
  }
  io::AtomicFile file("safetensors", path);
  std::string head;
  try {
    head = json.dump();
  } catch (const nlohmann::json::type_error&) {
    file.fail("a name or a text of the metadata is not UTF-8");
  }
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
