#include <damo/io/parameters.hpp>

#include <damo/io/npy.hpp>
#include <damo/io/safetensors.hpp>

#include "graph/base/characters.hpp"
#include "io/source.hpp"
#include "runtime/exec/shared_state.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

bool is_npz(const std::string& path) {
  if (path.ends_with(".npz")) return true;
  if (path.ends_with(".safetensors")) return false;
  throw OptionError("parameters: " + printable(path) + ": the name of a file of parameters ends in .safetensors or .npz");
}

/// In the names' order.
std::map<std::string, Shared, std::less<>> by_name(std::span<const Shared> parameters) {
  std::map<std::string, Shared, std::less<>> named;
  for (const Shared& parameter : parameters) {
    if (parameter.name().empty()) throw GraphError("parameters: " + describe(parameter) + " has no name to be saved under", "shared(\"name\", array) gives it one");
    if (!named.emplace(parameter.name(), parameter).second) throw GraphError("parameters: two are called " + printable(parameter.name(), io::kMostOfAName), "give each a name of its own");
  }
  return named;
}

}  // namespace

void save(const std::string& path, std::span<const Shared> parameters) {
  const bool npz = is_npz(path);
  by_name(parameters);  // refuses what cannot be told apart
  NamedArrays arrays;
  std::vector<Array> values = values_of(parameters);
  for (std::size_t i = 0; i < values.size(); ++i) arrays.emplace(parameters[i].name(), std::move(values[i]));
  if (npz) npz::save(path, arrays);
  else safetensors::save(path, arrays);
}

void load(const std::string& path, std::span<const Shared> parameters) {
  const bool npz = is_npz(path);
  const auto named = by_name(parameters);
  const Device device = parameters.empty() ? Device() : parameters.front().device();
  const WorkspaceScope none(nullptr);  // also within a thunk: the arrays become the variables' values and outlive its workspace
  NamedArrays arrays = npz ? npz::load(path, device) : safetensors::load(path, device);
  ErrorParts parts;
  for (const auto& [name, parameter] : named) {
    const auto found = arrays.find(name);
    const auto fits = [&](const Array& array) {
      const Shape& dims = parameter.type().dims;
      bool same = array.dtype() == parameter.dtype() && array.rank() == dims.rank();
      for (int i = 0; same && i < dims.rank(); ++i) same = dims[i] == kUnknown || dims[i] == array.shape()[i];
      return same;
    };
    if (found == arrays.end()) parts.operands.push_back(printable(describe(parameter)) + ": not in the file");
    else if (!fits(found->second)) parts.operands.push_back(printable(describe(parameter)) + ": in the file " + std::string(damo::name(found->second.dtype())) + " " + to_string(found->second.shape()));
  }
  for (const auto& [name, array] : arrays) {
    if (!named.contains(name)) parts.operands.push_back(printable(name, io::kMostOfAName) + ": in the file only, " + std::string(damo::name(array.dtype())) + " " + to_string(array.shape()));
  }
  if (!parts.operands.empty()) {
    parts.message = "parameters: " + printable(path) + " does not fit: " + std::to_string(parts.operands.size()) + (parts.operands.size() == 1 ? " difference" : " differences");
    throw FileError(parts);
  }
  std::vector<Array> values;
  for (const Shared& parameter : parameters) values.push_back(arrays.find(parameter.name())->second.to(parameter.device()).contiguous());
  arrays.clear();  // the variables' values are nobody else's
  replace_values(parameters, values);
}

}  // namespace damo
