#include "runtime/cuda/nvrtc_program.hpp"

#include <damo/error.hpp>

namespace damo::cuda_backend {

NvrtcProgram::NvrtcProgram(const NvrtcLibrary& library, const std::string& source, const std::string& name,
                           const HeaderSet& headers)
    : library_(library) {
  check(library.create_program(&program_, source.c_str(), name.c_str(), static_cast<int>(headers.names.size()),
                               headers.texts.data(), headers.names.data()),
        "nvrtcCreateProgram");
}

NvrtcProgram::~NvrtcProgram() { library_.destroy_program(&program_); }

void NvrtcProgram::add_name(const std::string& expression) {
  check(library_.add_name_expression(program_, expression.c_str()), "nvrtcAddNameExpression");
}

nvrtcResult NvrtcProgram::compile(const std::vector<std::string>& options) {
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  return library_.compile_program(program_, static_cast<int>(pointers.size()), pointers.data());
}

std::string NvrtcProgram::log() const {
  std::size_t size = 0;
  check(library_.get_program_log_size(program_, &size), "nvrtcGetProgramLogSize");
  std::string text(size, '\0');
  check(library_.get_program_log(program_, text.data()), "nvrtcGetProgramLog");
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  return text;
}

std::vector<std::byte> NvrtcProgram::code() const {
  std::size_t size = 0;
  const bool cubin = library_.get_cubin_size(program_, &size) == NVRTC_SUCCESS && size > 0;
  if (!cubin) check(library_.get_ptx_size(program_, &size), "nvrtcGetPTXSize");
  std::vector<std::byte> bytes(size);
  auto* to = reinterpret_cast<char*>(bytes.data());
  if (cubin)
    check(library_.get_cubin(program_, to), "nvrtcGetCUBIN");
  else
    check(library_.get_ptx(program_, to), "nvrtcGetPTX");
  return bytes;
}

std::string NvrtcProgram::lowered_name(const std::string& expression) const {
  const char* lowered = nullptr;
  check(library_.get_lowered_name(program_, expression.c_str(), &lowered), "nvrtcGetLoweredName");
  return lowered;
}

void NvrtcProgram::check(nvrtcResult result, const char* call) const {
  if (result == NVRTC_SUCCESS) return;
  throw DeviceError(std::string(call) + " failed: " + library_.get_error_string(result));
}

}  // namespace damo::cuda_backend
