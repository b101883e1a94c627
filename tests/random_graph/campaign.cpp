#include "campaign.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"
#include "print.hpp"
#include "shrink.hpp"

namespace damo::testing {
namespace {

constexpr std::uint64_t kGraphsOfAChild = 2000;  // what its kernels take of memory is given back then
constexpr int kTries = 160;                      // of a shrinker
constexpr std::size_t kMostFailures = 20;        // then something is wrong with all of them

struct Options {
  std::string device = "cpu", out;
  std::string family;  ///< graphs without a node of it are left out; "any"; "large": those of small spaces
  std::uint64_t first = 0, count = 1000;
  double seconds = 1e9;
  int limit = 120;  ///< seconds for one graph
  bool shrink = true;
};

struct Message {
  std::uint64_t seed;
  std::uint64_t elements, known, gradients, updates, none, left_out;
  char what[240];  ///< empty: the graph begins, or the tally
};

std::string check_seed(std::uint64_t seed, const Options& options, Tally& tally) {
  const GraphSpec graph = random_graph(seed);
  const bool is_asked_for = options.family.empty() || (options.family == "large" && graph.is_large) || std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const NodeSpec& node) {
    return !node.family.empty() && (options.family == "any" || node.family == options.family);
  });
  if (!is_asked_for) return {};
  std::string wrong = check_graph(graph, Device(options.device), tally);
  return wrong.empty() && seed % 4 == 0 ? check_in_place(seed, Device(options.device)) : wrong;
}

void send(int pipe, Message message) {
  if (write(pipe, &message, sizeof message) != static_cast<ssize_t>(sizeof message)) _exit(3);
}

/// A child's work: seeds from first, until one fails.
[[noreturn]] void work(const Options& options, std::uint64_t first, std::uint64_t last, int pipe) {
  Tally tally;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    Message message{seed, tally.elements, tally.known, tally.gradient_elements, tally.updates, tally.no_graphs, tally.left_out, {}};
    send(pipe, message);
    const std::string wrong = check_seed(seed, options, tally);
    if (wrong.empty()) continue;
    std::snprintf(message.what, sizeof message.what, "%s", wrong.c_str());
    send(pipe, message);
  }
  Message done{last, tally.elements, tally.known, tally.gradient_elements, tally.updates, tally.no_graphs, tally.left_out, {}};
  send(pipe, done);
  std::fflush(nullptr);
  _exit(0);
}

struct Child {
  pid_t pid;
  int pipe;
};

template <class Work>
Child start(Work body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::perror("pipe"), std::exit(2);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    body(ends[1]);
  }
  close(ends[1]);
  return {pid, ends[0]};
}

/// False at the end of the pipe or after the limit.
bool receive(const Child& child, Message& message, int seconds, bool& timed_out) {
  pollfd ready{child.pipe, POLLIN, 0};
  timed_out = poll(&ready, 1, seconds * 1000) == 0;
  return !timed_out && read(child.pipe, &message, sizeof message) == static_cast<ssize_t>(sizeof message);
}

std::string end_of(const Child& child, bool timed_out) {
  if (timed_out) kill(child.pid, SIGKILL);
  int status = 0;
  waitpid(child.pid, &status, 0);
  close(child.pipe);
  if (timed_out) return "hangs";
  if (WIFSIGNALED(status)) return std::string("crashes: ") + strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exits with " + std::to_string(WEXITSTATUS(status));
}

bool fails_in_a_child(const GraphSpec& graph, const Options& options) {
  const Child child = start([&](int pipe) {
    Tally tally;
    const std::string wrong = check_graph(graph, Device(options.device), tally);
    Message message{};
    message.known = wrong.empty() ? 0 : 1;
    send(pipe, message);
    _exit(0);
  });
  Message message{};
  bool timed_out = false;
  const bool answered = receive(child, message, options.limit, timed_out);
  const std::string end = end_of(child, timed_out);
  return !answered || !end.empty() || message.known != 0;
}

std::string program_text(const Options& options, std::uint64_t seed, const std::string& what) {
  std::string program;
  if (what.starts_with("in place")) {
    check_in_place(seed, Device(options.device), &program);
    return program;
  }
  GraphSpec graph = random_graph(seed);
  if (options.shrink) graph = shrunk(std::move(graph), [&](const GraphSpec& smaller) { return fails_in_a_child(smaller, options); }, kTries);
  return program_of(graph, options.device, "seed " + std::to_string(seed) + ": " + what);
}

/// The program is made in a child: what has called a GPU's driver can't fork children that do.
void report(const Options& options, std::uint64_t seed, const std::string& what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  const Child child = start([&](int pipe) {
    const std::string program = program_text(options, seed, what);
    if (options.out.empty()) std::printf("%s\n", program.c_str());
    else std::ofstream(options.out + "/graph_" + std::to_string(seed) + ".cpp") << program;
    std::fflush(stdout);
    send(pipe, {});
    _exit(0);
  });
  Message done{};
  bool timed_out = false;
  receive(child, done, options.limit * kTries, timed_out);
  if (const std::string end = end_of(child, timed_out); !end.empty()) std::printf("seed %llu: no program, its process %s\n", static_cast<unsigned long long>(seed), end.c_str());
  std::fflush(stdout);
}

Options parse(int count, char** arguments) {
  Options options;
  if (count % 2 != 0) std::fprintf(stderr, "each option takes a value: --device --out --family --first --count --seconds --limit --shrink\n"), std::exit(2);
  for (int i = 0; i < count; i += 2) {
    const std::string name = arguments[i], value = arguments[i + 1];
    if (name == "--device") options.device = value;
    else if (name == "--out") options.out = value;
    else if (name == "--family") options.family = value;
    else if (name == "--first") options.first = std::stoull(value);
    else if (name == "--count") options.count = std::stoull(value);
    else if (name == "--seconds") options.seconds = std::stod(value);
    else if (name == "--limit") options.limit = std::stoi(value);
    else if (name == "--shrink") options.shrink = value != "0";
    else std::fprintf(stderr, "unknown option %s\n", name.c_str()), std::exit(2);
  }
  return options;
}

}  // namespace

int campaign(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const std::uint64_t end = options.first + options.count;
  std::uint64_t next = options.first, elements = 0, known = 0, gradients = 0, updates = 0, none = 0, left_out = 0;
  std::size_t failures = 0;
  const auto start_time = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count(); };
  while (next < end && elapsed() < options.seconds) {
    const std::uint64_t last = std::min(end, next + kGraphsOfAChild);
    const Child child = start([&](int pipe) { work(options, next, last, pipe); });
    Message message{};
    std::vector<std::pair<std::uint64_t, std::string>> wrong;
    std::uint64_t current = next;
    bool timed_out = false, stopped = false;
    Message latest{};
    while (!stopped && receive(child, message, options.limit, timed_out)) {
      current = message.seed;
      latest = message;
      if (message.what[0] != 0) wrong.emplace_back(message.seed, message.what);
      stopped = current < last && (elapsed() > options.seconds || failures + wrong.size() >= kMostFailures);
    }
    if (stopped) kill(child.pid, SIGKILL);
    const std::string how = end_of(child, timed_out);
    elements += latest.elements;
    known += latest.known;
    gradients += latest.gradients;
    updates += latest.updates;
    none += latest.none;
    left_out += latest.left_out;
    next = stopped ? current : current < last ? current + 1 : last;
    if (!stopped && current < last) wrong.emplace_back(current, how.empty() ? "ends early" : how);
    for (const auto& [seed, what] : wrong) report(options, seed, what);
    failures += wrong.size();
    if (failures >= kMostFailures) std::printf("stopped after %zu failures\n", kMostFailures);
    if (stopped || failures >= kMostFailures) break;
  }
  std::printf("%llu graphs on %s in %.1f s, %zu failures; %llu elements compared, %.1f %% of them known; %llu of gradients, %llu shared variables; %llu graphs whose extents do not fit\n",
              static_cast<unsigned long long>(next - options.first), options.device.c_str(), elapsed(), failures,
              static_cast<unsigned long long>(elements), elements > 0 ? 100.0 * static_cast<double>(known) / static_cast<double>(elements) : 0.0, static_cast<unsigned long long>(gradients),
              static_cast<unsigned long long>(updates), static_cast<unsigned long long>(none));
  if (left_out > 0) std::printf("%llu of them were left out: an emulated GPU has no cuSOLVER and no cuFFT\n", static_cast<unsigned long long>(left_out));
  return failures == 0 ? 0 : 1;
}

}  // namespace damo::testing
