#include "child_process.hpp"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "timing.hpp"

extern char** environ;

namespace damo::bench {

Figures run_process(std::vector<std::string> command, const std::string& file) {
  std::vector<char*> arguments;
  for (std::string& text : command) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const auto start = Clock::now();
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
    throw std::runtime_error("cannot start " + command[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Figures figures = {{"wall_ms", seconds_since(start) * 1e3}};
  if (status != 0) throw std::runtime_error(command[0] + " ended with status " + std::to_string(status));
  std::ifstream lines(file);
  std::string name;
  for (double value; lines >> name >> value;) figures[name] = value;
  return figures;
}

Children::Children() {
  const char* text = getenv("DAMO_CACHE_DIR");
  old_cache_ = text ? text : "";
  path_ = old_cache_ + "/children";
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
  setenv("DAMO_CACHE_DIR", (path_ + "/cache").c_str(), 1);
}

Children::~Children() { setenv("DAMO_CACHE_DIR", old_cache_.c_str(), 1); }

Figures Children::medians(int times, const std::string& role, const std::string& device, bool cold) const {
  std::map<std::string, std::vector<double>> all;
  const std::string file = path_ + "/figures", own = std::filesystem::read_symlink("/proc/self/exe").string();
  for (int i = 0; i < times; ++i) {
    if (cold) std::filesystem::remove_all(path_ + "/cache");
    for (const auto& [name, value] : run_process({own, "--child", role, device, file}, file)) all[name].push_back(value);
  }
  Figures figures;
  for (const auto& [name, values] : all) figures[name] = median(values);
  return figures;
}

}  // namespace damo::bench
