// Work in a process of its own, which may crash or hang.
#pragma once
#include <functional>
#include <string>

namespace damo::random_kernels {

/// What one program came to. kind: "" all well, else "wrong", "refused", "crash", "hang"; "invalid" if the
/// reference refuses it too: no such program should be written.
struct Verdict {
  std::string kind, text;
  bool is_good() const { return kind.empty(); }
};

/// Runs work in a child; its text is the verdict's: "" for all well, else "kind: text". A child that dies has crashed, one that
/// takes longer than seconds hangs.
Verdict judge_in_child(const std::function<std::string()>& work, double seconds);

/// "wrong: a[3] ..." -> {"wrong", "a[3] ..."}.
Verdict verdict_of(const std::string& text);

/// A child that is at work: what it wrote so far comes through a pipe.
struct Child {
  int process = -1, pipe = -1;
  /// Forks. work writes lines to the descriptor; the child ends when it returns.
  static Child start(const std::function<void(int)>& work);
  void end();  ///< kills it if it still runs
};

void write_all(int descriptor, const std::string& text);

}  // namespace damo::random_kernels
