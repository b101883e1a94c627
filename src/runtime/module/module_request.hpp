// What a Module asks the compiler and the linker for.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <damo/module.hpp>

#include "runtime/backend.hpp"

namespace damo {

/// Throws OptionError for options that mean nothing, on that kind of device.
CompileRequest module_request(const std::string& source, const ModuleOptions& options, DeviceKind device);

/// A name as a #line directive can hold it: without quotes, backslashes and line breaks.
std::string name_for_messages(std::string name);

std::vector<std::string> input_names(const std::vector<LinkInput>& inputs);
/// The sources among the inputs, each under its own name and line numbers.
std::string joined_sources(const std::vector<LinkInput>& inputs);
/// source: as joined_sources gives it. log gets the compiler's warnings.
std::shared_ptr<const LoadedModule> load_linked(Device device, const std::vector<LinkInput>& inputs,
                                                const ModuleOptions& options, const std::string& source, std::string& log);
/// Machine code as it is. Throws DeviceError on a device that is no GPU.
std::shared_ptr<const LoadedModule> load_code(Device device, const LinkInput& input);

}  // namespace damo
