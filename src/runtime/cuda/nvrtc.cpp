#include "runtime/cuda/nvrtc.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <thread>

#include <damo/error.hpp>

#include "runtime/cuda/code_container.hpp"
#include "runtime/cuda/lambda_annotations.hpp"
#include "runtime/cuda/name_guesses.hpp"
#include "runtime/cuda/nvrtc_library.hpp"
#include "runtime/cuda/nvrtc_program.hpp"
#include "runtime/cuda/prelude.hpp"
#include "runtime/cuda/standard_headers.hpp"
#include "runtime/cuda/symbol_name.hpp"
#include "runtime/kernel/cuda_tokens.hpp"
#include "runtime/kernel/host_code.hpp"
#include "runtime/kernel/include_digest.hpp"
#include "runtime/kernel/kernel_scan.hpp"

namespace damo::cuda_backend {
namespace {

constexpr const char* kMinimal = "-minimal";
/// Kernels of one text are optimised side by side: of a kernel that joins across rows, and what it ends with, the longer one is 7/8 of the time. The code is the same.
constexpr const char* kSplit = "--split-compile=2";

/// "sm_90" if NVRTC knows it, else the newest virtual architecture before it: "compute_90".
std::string target(const NvrtcLibrary& library, int architecture) {
  const auto& known = library.architectures;
  const auto next = std::upper_bound(known.begin(), known.end(), architecture);
  if (next == known.begin()) {
    throw DeviceError("NVRTC " + std::to_string(library.major) + "." + std::to_string(library.minor) +
                          " compiles no more for sm_" + std::to_string(architecture) + ", an older GPU",
                      "install an older CUDA toolkit beside it and name its lib64 directory with DAMO_NVRTC_PATH");
  }
  const int best = *std::prev(next);
  return (best == architecture ? "sm_" : "compute_") + std::to_string(best);
}

/// Where the toolkit that NVRTC belongs to keeps its headers; empty if it has none.
std::string include_directory(const NvrtcLibrary& library) {
  std::error_code ignored;
  const auto file = std::filesystem::canonical(library.path, ignored);
  for (const auto& base :
       {file.parent_path().parent_path(), std::filesystem::path(library.path).parent_path().parent_path()}) {
    if (std::filesystem::exists(base / "include" / "cuda_fp16.h", ignored)) return (base / "include").string();
  }
  return {};
}

bool names_architecture(const std::string& flag) {
  return flag.starts_with("-arch") || flag.starts_with("--gpu-architecture");
}

/// The prelude, then the request's text under its own name and line numbers. Generated text stands inside namespace
/// damo: there damo::tanh hides CUDA's ::tanh, which "using namespace damo" would make ambiguous.
std::string full_source(const CompileRequest& request, const SourceEdits& edits) {
  const bool generated = request.kind == SourceKind::kGenerated;
  std::string text;
  if (generated) {
    text = generated_prelude(request.source) + "namespace damo {\n";
  } else {
    for (const std::string& name : edits.own_types) text += "#define " + own_type_macro(name) + "\n";
    text += cuda_c_prelude();
    if (needs_std(request.source)) text += kIncludeStd;
  }
  text.append("#line 1 \"").append(request.file_name).append("\"\n");
  text += generated ? request.source : without_lambda_annotations(request.source);
  if (generated) text += "\n}\n";
  return text;
}

/// The text of a header with the whole path of each file that it includes from beside itself: NVRTC does not look beside a
/// header that it was given as a text.
std::string with_paths_of_neighbours(const std::string& text, const std::filesystem::path& header) {
  static const std::regex include("(^|\n)([ \t]*#[ \t]*include[ \t]*\")([^\"\n]+)\"");
  std::string result;
  auto at = text.cbegin();
  for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match) {
    const std::filesystem::path neighbour = header.parent_path() / match->str(3);
    std::error_code ignored;
    result.append(at, (*match)[3].first);
    result += std::filesystem::is_regular_file(neighbour, ignored) ? neighbour.string() : match->str(3);
    at = (*match)[3].second;
  }
  return result.append(at, text.cend());
}

/// Texts in place of files on the disk, by their paths and by the names by which the source includes them.
std::map<std::string, std::string> edited_headers(const CompileRequest& request, const SourceEdits& edits) {
  std::map<std::string, std::string> headers;
  for (const auto& [path, text] : edits.files) headers.emplace(path, "#line 1 \"" + path + "\"\n" + with_paths_of_neighbours(text, path));
  if (headers.empty()) return headers;
  for (const auto& [name, path] : included_files(request.source, request.options.include_directories)) {
    if (const auto file = headers.find(path); file != headers.end()) headers.emplace(name, file->second);
  }
  return headers;
}

/// ptxas names a function that is called and has no definition as the code does, and no line.
std::string undefined_function(const CompileRequest& request, const std::string& log) {
  constexpr std::string_view kWords = "Unresolved extern function '";
  const std::size_t begin = log.find(kWords);
  if (begin == std::string::npos) return {};
  const std::size_t end = log.find('\'', begin + kWords.size());
  const SymbolName name = read_symbol(log.substr(begin + kWords.size(), end - begin - kWords.size()));
  const std::string called = name.parameters ? name.name + "(" + *name.parameters + ")" : name.name;
  std::string note = request.file_name + ": error: function '" + called + "' is called but has no definition; it is named in line";
  const std::string word = name.name.substr(name.name.rfind(':') + 1);
  std::istringstream text(request.source);
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    CudaTokens tokens(line);
    bool is_named = false;
    for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) is_named |= token == word;
    if (is_named) note += " " + std::to_string(number);
  }
  return note;
}

[[noreturn]] void fail(const CompileRequest& request, const NvrtcLibrary& library, nvrtcResult result,
                       std::string log) {
  std::string message = request.file_name + " does not compile (NVRTC " + std::to_string(library.major) + "." +
                        std::to_string(library.minor) + ")";
  for (const std::string name : {"texture", "surface"}) {
    if (log.find("error: " + name + " is not a template") != std::string::npos)
      log += "\nnote: texture and surface references are not supported, CUDA has none since version 12: pass an array";
  }
  if (const std::string note = undefined_function(request, log); !note.empty()) log += "\n" + note;
  if (log.find("cannot determine which instance of overloaded function") != std::string::npos) {
    for (const std::string& name : request.kernels) {
      if (const std::string found = kernels_of_name(scan_names(request.source), name); found.find(" in line ") != found.rfind(" in line "))
        log += "\n" + request.file_name + ": note: several __global__ functions are named '" + name + "': " + found + "; name one by an expression such as (void (*)(float*))" + name;
    }
  }
  if (result != NVRTC_ERROR_COMPILATION) message += std::string(": ") + library.get_error_string(result);
  throw CompileError(std::move(message), std::move(log), request.source);
}

/// NVRTC takes texts that end at the first NUL: the rest would be left out in silence.
[[noreturn]] void refuse_nul(const CompileRequest& request) {
  const auto line = std::count(request.source.begin(), request.source.begin() + static_cast<std::ptrdiff_t>(request.source.find('\0')), '\n') + 1;
  throw CompileError(request.file_name + " does not compile",
                     request.file_name + "(" + std::to_string(line) + "): error: a byte of value 0 in the source", request.source);
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(int architecture)
    : architecture_(architecture),
      stamp_("nvrtc " + nvrtc_file_stamp(find_nvrtc()) + " sm_" + std::to_string(architecture) + " " +
             prelude_digest()) {}

namespace {

void add_options(const CompileOptions& wanted, std::vector<std::string>& options) {
  if (wanted.line_info) options.emplace_back("-lineinfo");
  if (wanted.relocatable) options.emplace_back("-rdc=true");
  if (wanted.max_registers > 0) options.push_back("-maxrregcount=" + std::to_string(wanted.max_registers));
  for (const auto& [name, value] : wanted.defines) options.push_back("-D" + name + "=" + value);
  for (const std::string& directory : wanted.include_directories) options.push_back("-I" + directory);
}

}  // namespace

std::vector<std::string> NvrtcCompiler::options(const CompileRequest& request) const {
  const CompileOptions& wanted = request.options;
  std::vector<std::string> options = {"-std=" + (wanted.standard.empty() ? std::string("c++17") : wanted.standard)};
  options.emplace_back(wanted.fast_math ? "-use_fast_math" : wanted.contract ? "-fmad=true"
                                                                             : "-fmad=false");
  if (request.kind == SourceKind::kGenerated) {
    options.emplace_back("-default-device");
    options.emplace_back("-diag-suppress=177,550");  // "declared but never referenced", "set but never used": a kernel uses part of its head, and of what it reads
    if (minimal_) options.emplace_back(kMinimal);
    if (splits_ && request.kernels.size() > 1) options.emplace_back(kSplit);
  } else {
    options.emplace_back("-diag-suppress=47");  // NVIDIA's headers define limits that the prelude has, in other words
    options.emplace_back("-default-device");  // helper functions need no annotation, as on the CPU
    add_options(wanted, options);
    if (request.source.find("#include") != std::string::npos) {
      if (const std::string directory = include_directory(nvrtc()); !directory.empty()) {
        options.push_back("-I" + directory);
        options.push_back("-I" + directory + "/cccl");  // <cuda/std/...>, since CUDA 13
      }
    }
  }
  if (nvrtc().major >= 13) options.emplace_back("-no-cache");  // Damo has a cache of its own, with checksums and a limit
  // The user's come last: -std and -fmad given twice count as the last.
  options.insert(options.end(), request.flags.begin(), request.flags.end());
  if (std::none_of(request.flags.begin(), request.flags.end(), names_architecture)) {
    options.push_back("--gpu-architecture=" + target(nvrtc(), architecture_));
  }
  return options;
}

CompiledCode NvrtcCompiler::compile(const CompileRequest& request) const {
  if (request.source.find('\0') != std::string::npos) refuse_nul(request);
  return compile_past_host_code(request, [this](const CompileRequest& text, const SourceEdits& edits) {
    NameGuesses guesses(text);
    for (;;) {
      if (std::optional<CompiledCode> code = try_compile(text, edits, guesses)) return std::move(*code);
    }
  });
}

/// Nothing if it is worth another try: what stood in the way has been changed.
std::optional<CompiledCode> NvrtcCompiler::try_compile(const CompileRequest& request, const SourceEdits& edits, NameGuesses& guesses) const {
  const NvrtcLibrary& library = nvrtc();
  const bool is_cuda_c = request.kind == SourceKind::kCudaC;
  const std::map<std::string, std::string> edited = edited_headers(request, edits);
  HeaderSet headers = is_cuda_c ? standard_headers(include_directory(library).empty()) : HeaderSet();
  for (const auto& [name, text] : edited) headers.add(name.c_str(), text.c_str());
  NvrtcProgram program(library, full_source(request, edits), request.file_name, headers);
  for (const std::string& expression : guesses.expressions()) program.add_name(expression);
  const std::vector<std::string> options = this->options(request);
  const nvrtcResult result = program.compile(options);
  if (result == NVRTC_ERROR_INVALID_OPTION) {  // an NVRTC older than the option
    const std::string log = program.log();
    const auto is_unknown = [&](const char* option, const char* word) { return std::find(options.begin(), options.end(), option) != options.end() && log.find(word) != std::string::npos; };
    const bool has_no_minimal = is_unknown(kMinimal, "minimal"), has_no_split = is_unknown(kSplit, "split-compile");
    if (has_no_minimal) minimal_ = false;
    if (has_no_split) splits_ = false;
    if (has_no_minimal || has_no_split) return std::nullopt;
  }
  if (result != NVRTC_SUCCESS) {
    std::string log = program.log();
    if (guesses.drop_blamed(log)) return std::nullopt;
    fail(request, library, result, std::move(log));
  }
  CodeContainer container;
  container.code = program.code();
  container.names = guesses.answers([&](const std::string& expression) { return program.lowered_name(expression); });
  return CompiledCode{pack(container), program.log()};
}

int NvrtcCompiler::threads() const { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

}  // namespace damo::cuda_backend
