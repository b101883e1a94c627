#include "runtime/cuda/name_guesses.hpp"

#include <algorithm>
#include <set>

#include "runtime/cuda/symbol_name.hpp"
#include "runtime/kernel/name_expression.hpp"

namespace damo::cuda_backend {
namespace {

/// NVRTC's log quotes an expression that it could not read in such a line.
constexpr std::string_view kBlame = "#pragma nv_mangled_name ";

/// A variable that the prelude declares: its name in the code holds the kernel's type.
std::string signature_of(const std::string& kernel) { return "&damo_signature<decltype(" + kernel + ")>"; }

std::set<std::string> blamed_expressions(const std::string& log) {
  std::set<std::string> blamed;
  for (std::size_t at = 0; (at = log.find(kBlame, at)) != std::string::npos;) {
    at += kBlame.size();
    const std::size_t end = std::min(log.find('\n', at), log.size());
    blamed.insert(log.substr(at, end - at));
    at = end;
  }
  return blamed;
}

}  // namespace

NameGuesses::NameGuesses(const CompileRequest& request) {
  if (request.kind != SourceKind::kCudaC) return;
  bool all = false;
  for (const std::string& name : request.kernels) {
    if (name == kAllKernels) all = true;
    else add(name, /*is_kernel=*/true, /*is_given=*/true);
  }
  if (!all) return;
  ScannedNames scanned = scan_names(request.source);
  for (const std::string& name : scanned.kernels) add(name, true, false);
  for (const std::string& name : scanned.variables) add(name, false, false);
  kernels_ = std::move(scanned.definitions);
}

void NameGuesses::add(const std::string& name, bool is_kernel, bool is_given) {
  const auto same = [&](const Name& known) { return known.name == name; };
  if (std::none_of(names_.begin(), names_.end(), same)) names_.push_back({name, is_kernel, is_given, is_kernel});
}

void NameGuesses::add_casts(const std::string& name) {
  const auto has_name = [&](const ScannedKernel& kernel) { return kernel.name == name && !kernel.is_template; };
  const bool is_alone = std::count_if(kernels_.begin(), kernels_.end(), has_name) == 1;
  for (const ScannedKernel& kernel : kernels_) {
    if (!has_name(kernel)) continue;
    add(with_cast(name, kernel.parameters), /*is_kernel=*/true, /*is_given=*/false);
    (is_alone ? names_.back().alone : names_.back().shared) = name;
  }
}

std::vector<std::string> NameGuesses::expressions() const {
  std::vector<std::string> all;
  for (const Name& name : names_) {
    all.push_back(name.is_kernel ? name.name : "&" + name.name);
    if (name.has_types) all.push_back(signature_of(name.name));
  }
  return all;
}

bool NameGuesses::drop_blamed(const std::string& log) {
  if (log.find("__nv_name_map") == std::string::npos) return false;
  const std::set<std::string> blamed = blamed_expressions(log);
  bool dropped = false;
  for (Name& name : names_) {
    if (name.has_types && blamed.contains(signature_of(name.name))) name.has_types = false, dropped = true;
  }
  std::vector<std::string> ambiguous;
  dropped |= std::erase_if(names_, [&](const Name& name) {
               const bool is_wrong = !name.is_given && blamed.contains(name.is_kernel ? name.name : "&" + name.name);
               if (is_wrong && name.is_kernel && name.alone.empty() && name.shared.empty()) ambiguous.push_back(name.name);
               return is_wrong;
             }) > 0;
  for (const std::string& name : ambiguous) add_casts(name);
  if (dropped) return true;
  // The log does not say which: those that the caller gave are left, without their types.
  const bool had = std::any_of(names_.begin(), names_.end(), [](const Name& n) { return !n.is_given || n.has_types; });
  std::erase_if(names_, [](const Name& name) { return !name.is_given; });
  for (Name& name : names_) name.has_types = false;
  return had;
}

std::map<std::string, CodeName> NameGuesses::answers(
    const std::function<std::string(const std::string&)>& lowered_name) const {
  std::map<std::string, CodeName> answers;
  std::set<std::string> known;
  for (const Name& name : names_) {
    std::string lowered = lowered_name(name.is_kernel ? name.name : "&" + name.name);
    if (!known.insert(lowered).second && !name.is_given) continue;  // it has a name
    std::string whole = name.alone.empty() ? name.name : name.alone;
    if (!name.shared.empty()) whole = with_cast(name.shared, read_symbol(lowered).parameters.value_or(""));
    CodeName& answer = answers[whole];
    answer.is_kernel = name.is_kernel;
    answer.lowered = std::move(lowered);
    if (name.has_types) answer.parameters = read_signature(lowered_name(signature_of(name.name)));
  }
  return answers;
}

}  // namespace damo::cuda_backend
