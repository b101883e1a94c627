#include "runtime/cpu/random_kernels/child.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace damo::random_kernels {

Verdict verdict_of(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t colon = text.find(": ");
  return {text.substr(0, colon), colon == text.npos ? std::string() : text.substr(colon + 2)};
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t some = write(descriptor, text.data() + done, text.size() - done);
    if (some <= 0) return;
    done += static_cast<std::size_t>(some);
  }
}

Child Child::start(const std::function<void(int)>& work) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "no pipe to a child");
  std::fflush(nullptr);
  Child child{fork(), ends[0]};
  if (child.process < 0) throw std::system_error(errno, std::generic_category(), "no child process");
  if (child.process != 0) {
    close(ends[1]);
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(ends[0]);
  work(ends[1]);
  close(ends[1]);
  _exit(0);  // without what a process does at its end: it is the parent's
}

void Child::end() {
  if (process <= 0) return;
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  close(pipe);
  process = -1;
}

Verdict judge_in_child(const std::function<std::string()>& work, double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  Child child = Child::start([&](int out) { write_all(out, work() + "\n."); });
  std::string text;
  for (;;) {
    const double left = seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    pollfd wait{child.pipe, POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left * 1000) + 1) == 0) {
      child.end();
      return {"hang", "not done after " + std::to_string(seconds) + " s"};
    }
    char bytes[4096];
    const ssize_t some = read(child.pipe, bytes, sizeof bytes);
    if (some <= 0) break;
    text.append(bytes, static_cast<std::size_t>(some));
  }
  child.end();
  if (!text.ends_with("\n.")) return {"crash", "the process died"};
  return verdict_of(text.substr(0, text.size() - 2));
}

}  // namespace damo::random_kernels
