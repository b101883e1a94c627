// damo doctor: one line a part, and for what is missing the command that mends it.
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <vector>

#include <nlohmann/json.hpp>

#include <damo/damo.hpp>

#include "commands.hpp"
#include "graph/base/environment.hpp"
#include "graph/base/pass_names.hpp"
#include "ops/rewrites/pipeline.hpp"
#if DAMO_HAS_CPU
#include "runtime/cpu/blas_library.hpp"
#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/cpu/lapack_library.hpp"
#include "runtime/cpu/onednn_library.hpp"
#endif
#if DAMO_HAS_CUDA
#include "runtime/cuda/cublas_library.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/cudnn_library.hpp"
#include "runtime/cuda/cufft_library.hpp"
#include "runtime/cuda/cusolver_library.hpp"
#endif

namespace damo::tool {
namespace {

enum class State { kGood, kMissing, kBroken };

struct Finding {
  std::string part;
  State state = State::kGood;
  std::string text;
  std::string remedy = {};
};

const char* word(State state) { return state == State::kGood ? "ok" : state == State::kMissing ? "missing" : "broken"; }

/// What an Error says, in two pieces.
Finding from_error(const std::string& part, State state, const Error& error) {
  const std::string& where = error.parts().where;
  return {part, state, error.parts().message + (where.empty() ? "" : " (" + where + ")"), error.parts().remedy};
}

/// A library that is opened for it. open() gives null where there is none, or throws; variable: what names the library's file.
template <class Open>
Finding library(const char* part, const char* variable, const char* without, const char* remedy, const Open& open) {
  try {
    const auto* found = open();
    return found ? Finding{part, State::kGood, found->name} : Finding{part, State::kMissing, without, remedy};
  } catch (const Error& error) {
    return from_error(part, environment(variable).empty() ? State::kMissing : State::kBroken, error);
  }
}

std::vector<Finding> look_at_environment() {
  std::vector<Finding> findings;
  for (const std::string& problem : environment_problems()) {
    findings.push_back({"environment", State::kBroken, problem, "the table below says what there is"});
  }
  for (const std::string& name : with_environment({})) {
    if (name == kReplay || name == kSideBySide) continue;
    try {
      check_disabled({.disable = {name}});
    } catch (const OptionError& error) {
      findings.push_back({"environment", State::kBroken, "DAMO_DISABLE names '" + name + "', which is no pass or rule of Damo's own", error.parts().remedy});
    }
  }
  return findings;
}

std::vector<Finding> look_at_cuda() {
#if DAMO_HAS_CUDA
  std::vector<Finding> findings;
  const auto problem = cuda_problem();
  if (problem) {
    findings.push_back({"CUDA driver", State::kMissing, *problem,
                        "for a GPU: install NVIDIA's driver; without one everything runs on the CPU"});
  } else {
    findings.push_back(
        {"CUDA driver", State::kGood, driver_version() + ", " + std::to_string(cuda_device_count()) + " GPUs"});
  }
  const auto compiler = nvrtc_problem();
  const State without = problem ? State::kMissing : State::kBroken;  // with a GPU NVRTC is needed
  if (compiler)
    findings.push_back(
        {"NVRTC", without, *compiler, "install NVIDIA's package cuda-nvrtc, or set DAMO_NVRTC_PATH to libnvrtc.so"});
  else
    findings.push_back({"NVRTC", State::kGood, nvrtc_version()});
  if (problem) return findings;
  findings.push_back(library("GPU products", "DAMO_CUBLASLT_PATH", "no cuBLASLt: products of matrices run as kernels of Damo's own, which are much slower",
                             "install libcublas of the CUDA toolkit, or set DAMO_CUBLASLT_PATH", [] { return cuda_backend::cublas(); }));
  findings.push_back(library("GPU convolutions", "DAMO_CUDNN_PATH", "no cuDNN: convolutions run as kernels of Damo's own, which are much slower where they are large",
                             "install cuDNN 9, or set DAMO_CUDNN_PATH", [] { return cuda_backend::cudnn(); }));
  findings.push_back(library("GPU factors", "DAMO_CUSOLVER_PATH", "", "", [] { return &cuda_backend::cusolver(); }));
  findings.push_back(library("GPU transforms", "DAMO_CUFFT_PATH", "", "", [] { return &cuda_backend::cufft(); }));
  return findings;
#else
  return {{"CUDA", State::kMissing, "this build has no CUDA back end: " DAMO_CUDA_WHY,
           "install the toolkit, then: cmake --preset cuda && cmake --build --preset cuda"}};
#endif
}

#if DAMO_HAS_CPU
/// The libraries that multiply and factor matrices.
std::vector<Finding> look_at_matrices() {
  std::vector<Finding> findings;
  findings.push_back(library("CPU products", "DAMO_BLAS_PATH", "no BLAS library: products of matrices run as kernels of Damo's own, which are slower",
                             "apt-get install libopenblas0-pthread, or set DAMO_BLAS_PATH to a library's file", [] { return cpu_backend::blas(); }));
  try {
    const cpu_backend::OneDnnLibrary* onednn = cpu_backend::onednn();
    const char* const taken = !onednn ? "" : onednn->has_bfloat16 ? "bfloat16 and int8"
                                         : onednn->has_int8       ? "int8"
                                                                  : "nothing: it may not use this processor's instructions for bfloat16 and int8";
    findings.push_back(onednn ? Finding{"CPU products", State::kGood, onednn->name + ", for " + taken}
                              : Finding{"CPU products", State::kMissing, "no oneDNN, which would be quicker for bfloat16 and int8: " + cpu_backend::onednn_absence(), cpu_backend::kInstallOneDnn});
  } catch (const Error& error) {
    findings.push_back(from_error("CPU products", State::kBroken, error));
  }
  findings.push_back(library("CPU factors", "DAMO_LAPACK_PATH", "", "", [] { return &cpu_backend::lapack(); }));
  return findings;
}
#endif

std::vector<Finding> look_at_cpu() {
#if DAMO_HAS_CPU
  std::vector<Finding> findings;
  if (const auto problem = cpu_backend::plugin_problem()) {
    findings.push_back({"CPU compiler", State::kBroken, *problem, "apt-get install libclang-cpp19 libllvm19"});
  } else {
    findings.push_back({"CPU compiler", State::kGood, cpu_backend::cache_stamp()});
  }
  try {
    const DeviceProperties properties = Device("cpu").properties();
    const bool is_chosen = !environment("DAMO_NUM_THREADS").empty();
    findings.push_back({"CPU threads", State::kGood,
                        std::to_string(properties.multiprocessors) + " by oneTBB" +
                            (is_chosen ? ", as DAMO_NUM_THREADS says" : "") + "; " + properties.description + ", " +
                            properties.architecture});
  } catch (const Error& error) {
    findings.push_back(from_error("CPU threads", State::kBroken, error));
  }
  for (Finding& finding : look_at_matrices()) findings.push_back(std::move(finding));
  return findings;
#else
  return {{"CPU", State::kMissing, "this build has no CPU back end: " DAMO_CPU_WHY,
           "apt-get install libclang-19-dev llvm-19-dev libtbb-dev, then build again"}};
#endif
}

Finding look_at_cache() {
  try {
    const std::string directory = cache_directory();
    if (directory.empty())
      return {"kernel cache", State::kMissing, "off: kernels are compiled anew in every process",
              "set DAMO_CACHE_DIR to a directory of yours"};
    std::error_code ignored;
    if (!std::filesystem::exists(directory, ignored))
      return {"kernel cache", State::kGood, directory + ", not made yet"};
    if (!std::filesystem::is_directory(directory, ignored)) {
      return {"kernel cache", State::kBroken, directory + " is no directory", "set DAMO_CACHE_DIR to a directory of yours"};
    }
    if (access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
      return {"kernel cache", State::kBroken, directory + " cannot be read and written",
              "chmod u+rwx " + directory + ", or set DAMO_CACHE_DIR to another directory"};
    }
    std::size_t bytes = 0;
    const std::vector<CacheEntry> entries = cache_entries();
    for (const CacheEntry& entry : entries) bytes += entry.bytes;
    return {"kernel cache", State::kGood,
            directory + ", " + std::to_string(entries.size()) + " kernels, " + size_text(bytes)};
  } catch (const Error& error) {
    return from_error("kernel cache", State::kBroken, error);
  }
}

/// A kernel of its own, compiled and run: all other lines may be good and this one not.
Finding try_default_device() {
  try {
    const Device device;
    const Variable x = vector("x");
    const Function f = function({x}, {tanh(x) + 1.0});
    const double value = Array(f(Array::zeros({4}, float32, device))).to_doubles().at(3);
    if (value != 1.0)
      return {"default device", State::kBroken, device.name() + " computed tanh(0) + 1 as " + std::to_string(value),
              "report this"};
    return {"default device", State::kGood, device.name() + " compiled and ran a kernel"};
  } catch (const Error& error) {
    return from_error("default device", State::kBroken, error);
  } catch (const std::exception& error) {
    return {"default device", State::kBroken, error.what()};
  }
}

void print(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::printf("%-8s %-16s %s\n", word(finding.state), finding.part.c_str(), finding.text.c_str());
    if (finding.state != State::kGood && !finding.remedy.empty())
      std::printf("%25s-> %s\n", "", finding.remedy.c_str());
  }
}

/// What Damo reads from the environment, and what is set of it.
void print_environment() {
  std::printf("\nenvironment variables, those that are set with their value:\n");
  const auto plain = [](std::string text) {
    std::erase(text, '`');
    return text;
  };
  for (const EnvironmentVariable& variable : environment_variables()) {
    const std::string value = environment(variable.name);
    std::printf("  %s%s%s\n    %s\n    takes %s; default: %s\n", variable.name, value.empty() ? "" : " = ", value.c_str(),
                plain(variable.meaning).c_str(), plain(variable.values).c_str(), plain(variable.standard).c_str());
  }
}

nlohmann::json environment_rows() {
  nlohmann::json rows = nlohmann::json::array();
  for (const EnvironmentVariable& variable : environment_variables()) {
    rows.push_back({{"name", variable.name}, {"takes", variable.values}, {"default", variable.standard},
                    {"meaning", variable.meaning}, {"value", environment(variable.name)}});
  }
  return rows;
}

}  // namespace

int run_doctor(bool json) {
  set_log_level(LogLevel::kError);  // what the log would say stands in the findings
  std::vector<Finding> findings = look_at_cuda();
  for (Finding& finding : look_at_cpu()) findings.push_back(std::move(finding));
  findings.push_back(look_at_cache());
  for (Finding& finding : look_at_environment()) findings.push_back(std::move(finding));
  findings.push_back(try_default_device());
  const bool works = findings.back().state == State::kGood;
  if (!json) {
    print(findings);
    print_environment();
    return works ? 0 : 1;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const Finding& finding : findings)
    rows.push_back(
        {{"part", finding.part}, {"state", word(finding.state)}, {"text", finding.text}, {"remedy", finding.remedy}});
  std::cout << nlohmann::json{{"works", works}, {"findings", rows}, {"environment", environment_rows()}}.dump(2, ' ', false, kReplaced) << "\n";
  return works ? 0 : 1;
}

}  // namespace damo::tool
