// The damo command: what this machine offers to Damo, what is missing, which ops there are, the kernel cache.
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <damo/error.hpp>
#include <damo/version.hpp>

#include "commands.hpp"
#include "graph/base/environment.hpp"

namespace damo::tool {
namespace {

constexpr const char* kAfter = R"(
Environment: DAMO_DEVICE chooses the default device, DAMO_NUM_THREADS the CPU's threads, DAMO_CACHE_DIR and
DAMO_CACHE_LIMIT the kernel cache, DAMO_LOG=debug shows compiles, DAMO_DUMP=DIRECTORY keeps the source of each kernel;
damo doctor lists all.)";

/// "damo cache: there is no command 'nosuch'; its commands are list, clear"; "damo cache: a command is missing; ..." where there is no word.
std::string explain(const CLI::App& app, const std::string& word) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  const bool is_option = word.starts_with('-');
  std::string text = path + ": ";
  text += word.empty() ? "a command is missing; " : "there is no " + std::string(is_option ? "option '" : "command '") + word + "'; ";
  std::vector<std::string> known;
  for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; })) known.push_back(command->get_name());
  if (is_option || known.empty()) return text + "see " + path + " --help";
  const std::string_view like = nearest(word, std::vector<std::string_view>(known.begin(), known.end()));
  if (!like.empty()) text += "the nearest is " + std::string(like) + ", ";
  text += "its commands are";
  for (const std::string& name : known) text += (name == known.front() ? " " : ", ") + name;
  return text;
}

int run(int count, char** arguments) {
  CLI::App app("Damo " DAMO_VERSION ": symbolic tensor graphs whose ops compile their own kernels at run time.",
               "damo");
  app.footer(kAfter);
  app.set_version_flag("--version", DAMO_VERSION);
  app.require_subcommand(0, 1);
  bool json = false, markdown = false;
  int code = 0;

  CLI::App* const devices = app.add_subcommand("devices", "the devices that functions can run on");
  devices->add_flag("--json", json, "as JSON");
  devices->callback([&] { code = list_devices(json); });

  CLI::App* const doctor =
      app.add_subcommand("doctor", "what works, what is missing and how to get it; exit code 1 if nothing can run");
  doctor->add_flag("--json", json, "as JSON");
  doctor->callback([&] { code = run_doctor(json); });

  CLI::App* const ops = app.add_subcommand("ops", "the elementwise ops: inputs, dtypes, formula");
  CLI::Option* const as_markdown = ops->add_flag("--markdown", markdown, "as docs/ops.md has it");
  ops->add_flag("--json", json, "as JSON")->excludes(as_markdown);
  ops->callback([&] {
    code = list_ops(markdown ? OpsFormat::kMarkdown : json ? OpsFormat::kJson : OpsFormat::kTable);
  });

  CLI::App* const cache = app.add_subcommand("cache", "the kernels that earlier programs compiled");
  cache->require_subcommand(1);
  CLI::App* const list = cache->add_subcommand("list", "where it is and what it holds");
  list->add_flag("--json", json, "as JSON");
  list->callback([&] { code = list_cache(json); });
  cache->add_subcommand("clear", "delete every entry; they are compiled again when they are needed")->callback([&] {
    code = clear_cache_files();
  });

  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::vector<std::string> rest = app.remaining(true);
    const bool lacks_command = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
    if (rest.empty() && !lacks_command) {
      app.exit(error);
    } else {
      std::cerr << explain(app, rest.empty() ? std::string() : rest.front()) << "\n";
    }
    return 2;
  }
  if (app.get_subcommands().empty()) std::cout << app.help();
  return code;
}

}  // namespace
}  // namespace damo::tool

int main(int count, char** arguments) {
  try {
    const int code = damo::tool::run(count, arguments);
    if (std::fflush(stdout) == 0 && std::cout.flush()) return code;
    std::cerr << "damo: the output cannot be written: " << std::strerror(errno) << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "damo: " << error.what() << "\n";
    return 1;
  }
}
