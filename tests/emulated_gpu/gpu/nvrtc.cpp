// libnvrtc.so of the emulated GPU: compiles for the CPU, and hands out as code what to compile.
#include <nvrtc.h>

#include <cstring>
#include <string>
#include <vector>

#include <damo/error.hpp>

#include "emulated_gpu/gpu/kernels.hpp"
#include "emulated_gpu/gpu/translate.hpp"

using namespace damo;

namespace {

struct Program {
  std::string text, code, log;
  CompileRequest request;
  std::vector<std::string> asked;
};
Program& of(nvrtcProgram program) { return *reinterpret_cast<Program*>(program); }

/// Options that name a value behind a letter or a sign: -DN=4, --gpu-architecture=sm_80.
bool takes(std::string_view option, std::string_view name, std::string& value) {
  if (!option.starts_with(name)) return false;
  value = option.substr(name.size());
  return true;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, NVRTC_SUCCESS; }
const char* nvrtcGetErrorString(nvrtcResult result) { return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "an error of the emulated NVRTC"; }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) { return *count = 5, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetSupportedArchs(int* all) { return all[0] = 75, all[1] = 80, all[2] = 86, all[3] = 90, all[4] = 100, NVRTC_SUCCESS; }

nvrtcResult nvrtcCreateProgram(nvrtcProgram* made, const char* text, const char* name, int, const char* const*, const char* const*) {
  auto* const program = new Program;
  program->text = text;
  program->request.file_name = name;
  program->request.kind = SourceKind::kCudaC;
  return *made = reinterpret_cast<nvrtcProgram>(program), NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) { return delete &of(*program), NVRTC_SUCCESS; }
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression) { return of(program).asked.emplace_back(expression), NVRTC_SUCCESS; }

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char* const* options) {
  Program& program = of(handle);
  CompileRequest& request = program.request;
  int architecture = 75;
  std::string value;
  for (int i = 0; i < count; ++i) {
    if (takes(options[i], "--gpu-architecture=", value)) architecture = std::stoi(value.substr(value.find('_') + 1));
    else if (takes(options[i], "-std=", value)) request.options.standard = value;
    else if (takes(options[i], "-I", value)) request.options.include_directories.push_back(value);
    else if (takes(options[i], "-D", value)) request.options.defines.emplace_back(value.substr(0, value.find('=')), value.find('=') == value.npos ? "1" : value.substr(value.find('=') + 1));
  }
  request.source = emulated_gpu::as_cpu_cuda_c(program.text, architecture);
  for (const std::string& name : program.asked) {
    if (!name.starts_with("&")) request.kernels.push_back(name);
  }
  if (request.kernels.empty()) request.kernels.emplace_back(kAllKernels);
  try {
    emulated_gpu::compile(request);
  } catch (const CompileError& error) {
    program.log = std::string(error.what()) + "\n" + error.log();
    return NVRTC_ERROR_COMPILATION;
  }
  program.code = emulated_gpu::code_of(request);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) { return *bytes = of(program).log.size() + 1, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* to) { return std::strcpy(to, of(program).log.c_str()), NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) { return *bytes = of(program).code.size(), NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* to) { return std::memcpy(to, of(program).code.data(), of(program).code.size()), NVRTC_SUCCESS; }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram, std::size_t* bytes) { return *bytes = 0, NVRTC_ERROR_INVALID_PROGRAM; }
nvrtcResult nvrtcGetPTX(nvrtcProgram, char*) { return NVRTC_ERROR_INVALID_PROGRAM; }
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name) {
  for (const std::string& asked : of(program).asked) {
    if (asked == expression) return *name = asked.c_str(), NVRTC_SUCCESS;
  }
  return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

}  // extern "C"
