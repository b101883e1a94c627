#include "runtime/cpu/random_kernels/campaign.hpp"

#include <poll.h>
#include <unistd.h>

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
constexpr std::uint64_t kBatch = 200;

/// "kind: text" of one program, in this process.
std::string findings(const Program& program, bool on_gpu) {
  if (!on_gpu) {
    const std::string found = compare_forms(program, kForms);
    if (found.empty()) return {};
    const bool is_value = found.find("form: a[") != found.npos || found.find("form: b[") != found.npos || found.find("form: acc[") != found.npos;
    const char* const kind = is_value ? "wrong: " : found.starts_with("reference") ? "invalid: " : "refused: ";
    return kind + found;
  }
  Arrays expected(program), given(program);
  if (std::string problem = run_on_cpu(program, kForms.back(), expected); !problem.empty()) return "invalid: " + problem;
  if (std::string problem = run_on_gpu(program, given); !problem.empty()) return "refused: GPU: " + problem;
  const std::string difference = expected.difference(given);
  return difference.empty() ? std::string() : "wrong: GPU: " + difference + " (reference, GPU)";
}

/// What all children share is made before them: the plugin is open, the prelude precompiled.
void warm_up() {
  static const bool once = [] {
    for (const std::uint64_t seed : {1, 2}) (void)compare_forms(random_program(seed), {kForms.back()});
    return true;
  }();
  (void)once;
}

/// One of the processes, with the seeds that it works through.
struct Worker {
  Child child = {};
  std::uint64_t next = 0, end = 0;  // next: the one that it is at
  Clock::time_point begin = {};     // of that one
  std::string text = {};            // not read yet
};

class Run {
 public:
  explicit Run(const Campaign& campaign) : campaign_(campaign), next_(campaign.first), end_(campaign.first + campaign.count) {}

  Result run() {
    warm_up();
    std::vector<Worker> workers(campaign_.processes);
    for (;;) {
      const bool is_over = since(begin_) > campaign_.seconds;
      bool any = false;
      for (Worker& worker : workers) {
        if (worker.child.process <= 0 && !is_over) start(worker);
        any |= worker.child.process > 0;
      }
      if (!any) break;
      if (is_over) {
        for (Worker& worker : workers) worker.child.end();
        break;
      }
      listen(workers);
    }
    shrink_all();
    return std::move(result_);
  }

 private:
  void start(Worker& worker) {
    if (worker.next >= worker.end) {
      if (next_ >= end_) return;
      worker.next = next_;
      worker.end = next_ = std::min(end_, next_ + kBatch);
    }
    const std::uint64_t first = worker.next, end = worker.end;
    worker.text.clear();
    worker.begin = Clock::now();
    worker.child = Child::start([this, first, end](int out) {
      if (!std::freopen("/dev/null", "w", stderr)) return;
      for (std::uint64_t seed = first; seed < end; ++seed) {
        std::string found = findings(random_program(seed), campaign_.on_gpu);
        for (char& letter : found) letter = letter == '\n' ? '\t' : letter;
        write_all(out, found + "\n");
      }
    });
  }

  void listen(std::vector<Worker>& workers) {
    std::vector<pollfd> waits;
    for (const Worker& worker : workers) waits.push_back({worker.child.process > 0 ? worker.child.pipe : -1, POLLIN, 0});
    poll(waits.data(), waits.size(), 200);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      Worker& worker = workers[i];
      if (worker.child.process <= 0) continue;
      if (waits[i].revents) read(worker);
      else if (since(worker.begin) > campaign_.seconds_each) {
        worker.child.end();
        finish(worker, {"hang", "not done after " + std::to_string(static_cast<int>(campaign_.seconds_each)) + " s"});
      }
    }
  }

  void read(Worker& worker) {
    char bytes[65536];
    const ssize_t some = ::read(worker.child.pipe, bytes, sizeof bytes);
    if (some > 0) worker.text.append(bytes, static_cast<std::size_t>(some));
    for (std::size_t line; (line = worker.text.find('\n')) != worker.text.npos; worker.text.erase(0, line + 1)) {
      const Verdict verdict = verdict_of(worker.text.substr(0, line));
      finish(worker, verdict);
      // The driver gives nothing more to a process in which a kernel has faulted: the next program gets a fresh one.
      if (campaign_.on_gpu && verdict.kind == "refused") return worker.child.end();
    }
    if (some > 0) return;
    worker.child.end();
    if (worker.next < worker.end) finish(worker, {"crash", "the process died"});
  }

  void finish(Worker& worker, const Verdict& verdict) {
    ++result_.programs;
    result_.wrong += verdict.kind == "wrong";
    result_.refused += verdict.kind == "refused" || verdict.kind == "invalid";
    result_.crashes += verdict.kind == "crash";
    result_.hangs += verdict.kind == "hang";
    if (!verdict.is_good()) {
      std::printf("seed %llu: %s: %.160s\n", static_cast<unsigned long long>(worker.next), verdict.kind.c_str(), verdict.text.c_str());
      std::fflush(stdout);
      if (result_.failures.size() < campaign_.shrunk) result_.failures.push_back({random_program(worker.next), verdict});
    }
    ++worker.next;
    worker.begin = Clock::now();
  }

  void shrink_all() {
    for (Failure& failure : result_.failures) {
      if (campaign_.attempts > 0) {
        const double limit = failure.verdict.kind == "hang" ? 5 : campaign_.seconds_each;
        failure.program = shrink(failure.program, [&](const Program& candidate) { return judge(candidate, campaign_.on_gpu, limit).kind == failure.verdict.kind; },
                                 campaign_.attempts);
        if (const Verdict last = judge(failure.program, campaign_.on_gpu, limit); !last.is_good()) failure.verdict = last;
      }
      std::printf("%s\n", failure.text().c_str());
      std::fflush(stdout);
      if (!campaign_.directory.empty()) std::ofstream(campaign_.directory + "/seed-" + std::to_string(failure.program.seed) + ".cu") << failure.text();
    }
  }

  const Campaign& campaign_;
  const Clock::time_point begin_ = Clock::now();
  std::uint64_t next_, end_;
  Result result_;
};

}  // namespace

Verdict judge(const Program& program, bool on_gpu, double seconds) {
  warm_up();
  return judge_in_child([&] { return findings(program, on_gpu); }, seconds);
}

Result run(const Campaign& campaign) { return Run(campaign).run(); }

std::string Failure::text() const {
  return "// seed " + std::to_string(program.seed) + ": " + verdict.kind + ": " + verdict.text + "\n// " + program.launch_text() + "\n" + program.source("k");
}

std::string Result::summary() const {
  return std::to_string(programs) + " programs: " + std::to_string(wrong) + " wrong, " + std::to_string(refused) + " refused, " + std::to_string(crashes) +
         " crashed, " + std::to_string(hangs) + " hung";
}

}  // namespace damo::random_kernels
