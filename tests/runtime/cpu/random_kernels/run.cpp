#include "runtime/cpu/random_kernels/run.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <damo/cuda_c.hpp>
#include <damo/error.hpp>
#include <damo/log.hpp>
#include <damo/module.hpp>

#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/cpu/elf_loader.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/cpu/random_kernels/constructs.hpp"
#include "runtime/cpu/random_kernels/kernel_writer.hpp"

namespace damo::random_kernels {
namespace {

constexpr const char *kDefault = "", *kCoroutines = "--damo-coroutines", *kReference = "--damo-reference";  // flags of the compiler

const char* name_of_form(const std::string& flag) { return flag.empty() ? "default" : flag.c_str() + 7; }

struct Compiled {
  std::vector<std::byte> object;
  std::string problem;  ///< "" if it compiled as asked
};

Compiled compile_in_form(const std::string& source, const std::string& form) {
  using namespace cpu_backend;
  std::vector<std::string> flags = {"--damo-no-line-tables"};
  if (!form.empty()) flags.push_back(form);
  std::string gave_way;
  set_log_sink([&](LogLevel, std::string_view line) { gave_way += line; });
  CompileOutput output = compile({.source = source, .file_name = "k.cu", .language = SourceLanguage::kCudaC, .flags = flags});
  set_log_sink({});
  if (!output.ok) return {{}, output.log};
  if (!gave_way.empty()) return {{}, "gave way: " + gave_way};
  return {std::move(output.object), {}};
}

/// Programs in one text, compiled for the CPU.
class CpuText {
 public:
  CpuText(Programs programs, const std::string& form) : programs_(programs), form_(form) {
    Compiled compiled = compile_in_form(source_of(programs), form);
    problem_ = std::move(compiled.problem);
    if (problem_.empty()) object_ = std::make_unique<cpu_backend::LoadedObject>(compiled.object, "k");
  }
  const std::string& form() const { return form_; }
  const std::string& problem() const { return problem_; }

  /// Changes arrays. What the launch said, "" if it went well.
  std::string run(std::size_t at, Arrays& arrays) const {
    using namespace cpu_backend;
    const Program& program = programs_[at];
    void *a = arrays.a.data(), *b = arrays.b.empty() ? arrays.a.data() + arrays.b_offset : arrays.b.data();
    void *c = arrays.c.data(), *acc = arrays.acc.data(), *bounds = arrays.bounds.data();
    unsigned n = program.n(), total = program.launch.total(), each = program.each, live = program.live();
    Given given;
    void* arguments[] = {&a, &b, &c, &acc, &bounds, &n, &total, &each, &live, &given};
    alignas(64) static std::byte shared[48 << 10];
    const Launch& launch = program.launch;
    LaunchReport report(object_.get());
    LaunchFrame frame{{launch.grid[0], launch.grid[1], launch.grid[2]}, {launch.block[0], launch.block[1], launch.block[2]},
                      launch.shared_bytes * launch.threads(), 0, shared, &report};
    KernelGuard::call(report, [&] { object_->kernel(kernel_name(programs_, at))(arguments, &frame, 0, launch.blocks()); });
    return report.failed() ? report.what() : std::string();
  }

 private:
  Programs programs_;
  std::string form_, problem_;
  std::unique_ptr<cpu_backend::LoadedObject> object_;
};

/// The same on a GPU.
class GpuText {
 public:
  explicit GpuText(Programs programs) : programs_(programs) {
    try {
      module_.emplace(device_, source_of(programs), ModuleOptions{.defines = {{"NO_RECURSION", ""}}, .file_name = "k.cu"});
    } catch (const Error& error) {
      problem_ = error.what();
    }
  }
  const std::string& problem() const { return problem_; }

  std::string run(std::size_t at, Arrays& arrays) const {
    try {
      const auto copy = [&](const auto& values) {
        DeviceMemory memory(device_, std::max<std::size_t>(values.size() * sizeof values[0], 16));
        if (!values.empty()) memory.copy_from_host(values);
        return memory;
      };
      const DeviceMemory a = copy(arrays.a), own = copy(arrays.b), c = copy(arrays.c), acc = copy(arrays.acc), bounds = copy(arrays.bounds);
      const DevicePointer b = arrays.b.empty() ? a + arrays.b_offset : DevicePointer(own);
      const auto extents = [](const std::array<unsigned, 3>& v) { return Dim3{v[0], v[1], v[2]}; };
      const Program& program = programs_[at];
      const Launch& launch = program.launch;
      module_->kernel(kernel_name(programs_, at))({.grid = extents(launch.grid), .block = extents(launch.block), .shared_bytes = launch.shared_bytes * launch.threads()},
                                                  a, b, c, acc, bounds, program.n(), launch.total(), program.each, program.live(), Given());
      device_.synchronize();
      a.copy_to_host(arrays.a);
      if (!arrays.b.empty()) own.copy_to_host(arrays.b);
      acc.copy_to_host(arrays.acc);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

 private:
  Programs programs_;
  Device device_ = cuda();
  std::optional<Module> module_;
  std::string problem_;
};

/// What came of a program in a form, held against expected.
Finding compare(const std::string& form, const std::string& problem, const Arrays& expected, const Arrays& given) {
  if (!problem.empty()) return {0, "crash", form + ": " + problem};
  const std::string difference = expected.difference(given);
  return difference.empty() ? Finding() : Finding{0, "wrong", form + ": " + difference + " (reference, " + form + ")"};
}

/// problem: what was said of all in one text, which is the last one's where none has a problem alone.
void judge_one_by_one(Programs programs, bool on_gpu, const std::string& problem, const Tell& tell) {
  bool any = false;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    judge(programs.subspan(i, 1), on_gpu, [&](std::size_t, Finding finding) {
      any |= !finding.kind.empty();
      if (!any && i + 1 == programs.size()) finding = {finding.forms, "refused", "in one text with its neighbours alone: " + problem};
      tell(i, finding);
    });
  }
}

void judge_on_gpu(Programs programs, const CpuText& reference, const Tell& tell) {
  const GpuText text(programs);
  if (!text.problem().empty()) {
    if (programs.size() > 1) return judge_one_by_one(programs, true, text.problem(), tell);
    return tell(0, {1, "refused", "GPU: " + text.problem()});
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    Arrays expected(programs[i]), given(programs[i]);
    Finding found;
    if (const std::string problem = reference.run(i, expected); !problem.empty()) found = {0, "invalid", problem};
    else found = compare("GPU", text.run(i, given), expected, given);
    found.forms = 2;
    tell(i, found);
  }
}

}  // namespace

std::string kernel_name(Programs programs, std::size_t at) { return programs.size() == 1 ? "k" : "k" + std::to_string(at); }

std::string source_of(Programs programs) {
  std::string source;
  for (std::size_t i = 0; i < programs.size(); ++i) source += programs[i].source(kernel_name(programs, i));
  return headers_of(source) + source;
}

void warm_up() {
  static const bool once = [] {
    for (const std::uint64_t seed : {1, 2}) (void)compile_in_form(source_of(std::vector{random_program(seed)}), kReference);
    return true;
  }();
  (void)once;
}

void judge(Programs programs, bool on_gpu, const Tell& tell) {
  const CpuText reference(programs, kReference);
  if (reference.problem().empty() && on_gpu) return judge_on_gpu(programs, reference, tell);
  std::vector<CpuText> texts;
  for (const char* form : {kDefault, kCoroutines}) {
    if (reference.problem().empty()) texts.emplace_back(programs, form);
  }
  const auto bad = std::find_if(texts.begin(), texts.end(), [](const CpuText& text) { return !text.problem().empty(); });
  if (!reference.problem().empty() || bad != texts.end()) {
    if (programs.size() > 1) return judge_one_by_one(programs, on_gpu, bad == texts.end() ? reference.problem() : bad->problem(), tell);
    if (bad == texts.end()) return tell(0, {1, "invalid", reference.problem()});
    return tell(0, {static_cast<unsigned>(texts.size()) + 1, "refused", std::string(name_of_form(bad->form())) + " form: " + bad->problem()});
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    Arrays expected(programs[i]);
    const unsigned forms = static_cast<unsigned>(texts.size()) + 1;
    if (const std::string problem = reference.run(i, expected); !problem.empty()) {
      tell(i, {forms, "invalid", problem});
      continue;
    }
    Finding found;
    for (auto text = texts.begin(); text != texts.end() && found.kind.empty(); ++text) {
      Arrays given(programs[i]);
      const std::string problem = text->run(i, given);
      found = compare(std::string(name_of_form(text->form())) + " form", problem, expected, given);
    }
    found.forms = forms;
    tell(i, found);
  }
}

}  // namespace damo::random_kernels
