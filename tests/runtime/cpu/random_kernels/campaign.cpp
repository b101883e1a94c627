#include "runtime/cpu/random_kernels/campaign.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "runtime/cpu/random_kernels/kernel_writer.hpp"
#include "runtime/cpu/random_kernels/run.hpp"
#include "runtime/cpu/random_kernels/shrink.hpp"

namespace damo::random_kernels {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// A child's programs, before a fresh one takes over: what compiles leave behind adds up.
constexpr std::uint64_t kBatch = 16 * kTogether;

std::uint64_t end_of_text(std::uint64_t seed) { return (seed / kTogether + 1) * kTogether; }

std::vector<Program> programs_of(std::uint64_t first, std::uint64_t end) {
  std::vector<Program> programs;
  for (std::uint64_t seed = first; seed < end; ++seed) programs.push_back(random_program(seed));
  return programs;
}

/// "kind: text" of the first program that something was found of.
std::string findings(Programs programs, bool on_gpu) {
  std::string found;
  judge(programs, on_gpu, [&](std::size_t, const Finding& finding) {
    if (found.empty() && !finding.kind.empty()) found = finding.kind + ": " + finding.text;
  });
  return found;
}

Verdict judge_all(Programs programs, bool on_gpu, double seconds) {
  warm_up();
  return judge_in_child([&] { return findings(programs, on_gpu); }, seconds);
}

double cpu_seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One of the processes, with the seeds that it works through.
struct Worker {
  Child child = {};
  std::uint64_t next = 0, end = 0;  // next: the one that it is at
  std::uint64_t alone_until = 0;    // a text killed the process: its programs are run one by one
  Verdict death = {};               // of that text, as long as none of them fails alone
  Clock::time_point begin = {};     // of what it is at
  std::string text = {};            // not read yet
  bool has_ended = false;           // it said so
  bool is_alone() const { return next < alone_until; }
};

class Run {
 public:
  explicit Run(const Campaign& campaign) : campaign_(campaign), next_(campaign.first), end_(campaign.first + campaign.count) {}

  Result run() {
    warm_up();
    const double before = cpu_seconds_of_children();
    std::vector<Worker> workers(campaign_.jobs);
    for (;;) {
      bool any = false;
      for (Worker& worker : workers) {
        if (worker.child.process <= 0) start(worker);
        any |= worker.child.process > 0;
      }
      if (!any) break;
      listen(workers);
      tell_progress();
    }
    for (Worker& worker : workers) note_death(worker);
    result_.seconds = since(begin_);
    result_.cpu_seconds = cpu_seconds_of_children() - before;
    shrink_all();
    return std::move(result_);
  }

 private:
  /// The programs that stand in one text with this one.
  std::vector<Program> text_of(std::uint64_t seed) const {
    const std::uint64_t end = end_of_text(seed);
    return programs_of(std::max(campaign_.first, end - kTogether), std::min(end_, end));
  }

  bool is_over() const { return since(begin_) > campaign_.seconds; }

  void start(Worker& worker) {
    if (is_over()) return;
    if (worker.next >= worker.end) {
      if (next_ >= end_) return;
      worker.next = next_;
      worker.end = next_ = std::min(end_, (next_ / kBatch + 1) * kBatch);
    }
    const std::uint64_t first = worker.next, end = worker.end, alone_until = worker.alone_until;
    worker.text.clear();
    worker.has_ended = false;
    worker.begin = Clock::now();
    worker.child = Child::start([this, first, end, alone_until](int out) {
      if (!std::freopen("/dev/null", "w", stderr)) return;
      for (std::uint64_t seed = first; seed < end && !is_over();) {
        const std::uint64_t last = seed < alone_until ? seed + 1 : std::min(end, end_of_text(seed));
        const std::vector<Program> programs = programs_of(seed, last);
        if (campaign_.before) campaign_.before(programs);
        judge(programs, campaign_.on_gpu, [&](std::size_t, const Finding& finding) {
          std::string line = finding.kind.empty() ? std::string() : finding.kind + ": " + finding.text;
          for (char& letter : line) letter = letter == '\n' ? '\t' : letter;
          write_all(out, std::to_string(finding.forms) + " " + line + "\n");
        });
        seed = last;
      }
      write_all(out, "end\n");
    });
  }

  void listen(std::vector<Worker>& workers) {
    std::vector<pollfd> waits;
    for (const Worker& worker : workers) waits.push_back({worker.child.process > 0 ? worker.child.pipe : -1, POLLIN, 0});
    poll(waits.data(), waits.size(), 200);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Worker& worker = workers[i];
      if (worker.child.process <= 0) continue;
      const double limit = campaign_.seconds_each * (worker.is_alone() ? 1 : 4);
      if (waits[i].revents) read(worker);
      else if (since(worker.begin) > limit) died(worker, {"hang", "not done after " + std::to_string(static_cast<int>(limit)) + " s"});
    }
  }

  void read(Worker& worker) {
    char bytes[65536];
    const ssize_t some = ::read(worker.child.pipe, bytes, sizeof bytes);
    if (some > 0) worker.text.append(bytes, static_cast<std::size_t>(some));
    for (std::size_t line; (line = worker.text.find('\n')) != worker.text.npos; worker.text.erase(0, line + 1)) {
      const std::string said = worker.text.substr(0, line);
      if (said == "end") {
        worker.has_ended = true;
        continue;
      }
      const std::size_t space = said.find(' ');
      result_.forms += std::stoul(said);
      const Verdict verdict = verdict_of(said.substr(space + 1));
      finish(worker, verdict);
      // The driver gives nothing more to a process in which a kernel has faulted: the next program gets a fresh one.
      if (campaign_.on_gpu && (verdict.kind == "refused" || verdict.kind == "crash")) return worker.child.end();
    }
    if (some > 0) return;
    if (worker.has_ended) worker.child.end();
    else died(worker, {"crash", "the process died"});
  }

  /// In a text of several programs it is not known which of them it was.
  void died(Worker& worker, const Verdict& verdict) {
    worker.child.end();
    if (worker.next >= worker.end) return;
    if (worker.is_alone()) return finish(worker, verdict);
    worker.alone_until = std::min(worker.end, end_of_text(worker.next));
    worker.death = verdict;
  }

  void finish(Worker& worker, const Verdict& verdict) {
    ++result_.programs;
    if (!verdict.is_good()) {
      worker.death = {};
      note(worker.next, verdict, {random_program(worker.next)});
    }
    if (++worker.next == worker.alone_until) note_death(worker);
    worker.begin = Clock::now();
  }

  /// A text has killed its process, and none of its programs did so alone.
  void note_death(Worker& worker) {
    if (worker.death.is_good()) return;
    worker.death.text += ", of a text of several";
    const std::vector<Program> programs = text_of(worker.alone_until - 1);
    note(programs.front().seed, worker.death, programs);
    worker.death = {};
  }

  void note(std::uint64_t seed, const Verdict& verdict, std::vector<Program> programs) {
    result_.wrong += verdict.kind == "wrong";
    result_.refused += verdict.kind == "refused" || verdict.kind == "invalid";
    result_.crashes += verdict.kind == "crash";
    result_.hangs += verdict.kind == "hang";
    std::printf("seed %llu: %s: %.160s\n", static_cast<unsigned long long>(seed), verdict.kind.c_str(), verdict.text.c_str());
    std::fflush(stdout);
    if (result_.failures.size() < campaign_.shrunk) result_.failures.push_back({std::move(programs), seed, verdict});
  }

  void tell_progress() {
    if (campaign_.tell_every <= 0 || since(told_) < campaign_.tell_every) return;
    told_ = Clock::now();
    std::fprintf(stderr, "%.0f s, of %llu seeds: %s\n", since(begin_), static_cast<unsigned long long>(campaign_.count), result_.summary().c_str());
  }

  /// A program that does not fail alone is shown with its neighbours.
  void shrink_failure(Failure& failure) const {
    const double limit = failure.verdict.kind == "hang" ? 5 : campaign_.seconds_each;
    const auto fails = [&](const Program& candidate) { return judge(candidate, campaign_.on_gpu, limit).kind == failure.verdict.kind; };
    if (failure.programs.size() > 1 || !fails(failure.programs[0])) {
      failure.programs = text_of(failure.seed);
      return;
    }
    failure.programs[0] = shrink(failure.programs[0], fails, campaign_.attempts);
    if (const Verdict last = judge(failure.programs[0], campaign_.on_gpu, limit); !last.is_good()) failure.verdict = last;
  }

  void shrink_all() {
    for (Failure& failure : result_.failures) {
      if (campaign_.attempts > 0) shrink_failure(failure);
      std::printf("%s\n", failure.text().c_str());
      std::fflush(stdout);
      if (!campaign_.directory.empty()) std::ofstream(campaign_.directory + "/seed-" + std::to_string(failure.seed) + ".cu") << failure.text();
    }
  }

  const Campaign& campaign_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point told_ = begin_;
  std::uint64_t next_, end_;
  Result result_;
};

}  // namespace

Verdict judge(const Program& program, bool on_gpu, double seconds) { return judge_all({&program, 1}, on_gpu, seconds); }

Result run(const Campaign& campaign) { return Run(campaign).run(); }

std::string Failure::text() const {
  std::string text = "// seed " + std::to_string(seed) + ": " + verdict.kind + ": " + verdict.text + "\n";
  if (programs.size() > 1) text += "// Not alone: in one text with its neighbours.\n";
  for (std::size_t i = 0; i < programs.size(); ++i) text += "// " + kernel_name(programs, i) + ": " + programs[i].launch_text() + "\n";
  return text + source_of(programs);
}

std::string Result::summary() const {
  std::string text = std::to_string(programs) + " programs, " + std::to_string(forms) + " with their forms: " + std::to_string(wrong) + " wrong, " +
                     std::to_string(crashes) + " crashed, " + std::to_string(hangs) + " hung, " + std::to_string(refused) + " refused";
  if (cpu_seconds <= 0 || forms == 0) return text;
  char cost[80];
  std::snprintf(cost, sizeof cost, "; %.0f s, %.0f ms of CPU time a program and form", seconds, 1e3 * cpu_seconds / static_cast<double>(forms));
  return text + cost;
}

}  // namespace damo::random_kernels
