// safetensors: tensors by name in one file, as Hugging Face's libraries exchange weights. All of Damo's dtypes, bfloat16 and 8-bit floats too.
//
//   safetensors::save("model.safetensors", {{"w", w}, {"b", b}}, {{"format", "pt"}});
//   NamedArrays tensors = safetensors::load("model.safetensors");      safetensors::metadata("model.safetensors")
//
// Read is what the format allows: a head of at most 100 MB whose tensors fill the rest of the file without gaps or overlaps; FileError for
// anything else, before memory is taken for elements, and for the dtypes that Damo lacks (F8_E8M0, F4, ...). Written whole or not at all, as
// io/npy.hpp says. See tests/io/safetensors_test.cpp.
#pragma once
#include <map>
#include <string>

#include <damo/io/npy.hpp>

namespace damo::safetensors {

using Metadata = std::map<std::string, std::string>;

NamedArrays load(const std::string& path, Device device = Device());
/// OptionError for a tensor called "__metadata__", which the format keeps for itself.
void save(const std::string& path, const NamedArrays& tensors, const Metadata& metadata = {});
/// The texts that the file carries beside its tensors; costs reading its head.
Metadata metadata(const std::string& path);

}  // namespace damo::safetensors
