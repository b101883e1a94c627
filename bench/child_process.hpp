// Processes that damo-bench starts to measure what only a new process shows: the first compile, the first call, an empty or
// a filled kernel cache. Each is damo-bench itself in a role (child.cpp) and prints figures.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace damo::bench {

using Figures = std::map<std::string, double>;

/// Runs a program to its end; wall_ms and whatever "name value" lines it wrote to `file`. Throws if it fails.
Figures run_process(std::vector<std::string> command, const std::string& file);

/// A directory for the children of one benchmark, in it their kernel cache; DAMO_CACHE_DIR names that one as long as the object lives.
class Children {
 public:
  Children();
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// The median of each figure over `times` children in the same role. cold: each begins with an empty kernel cache.
  Figures medians(int times, const std::string& role, const std::string& device, bool cold) const;

 private:
  std::string path_, old_cache_;
};

/// In a child: does what the role says and writes "name value" lines to `file`. Gives the exit code.
int run_child(const std::string& role, const std::string& device, const std::string& file);

}  // namespace damo::bench
