// Progress: how far a loop is, how fast, and what it makes, on one line that is written over and over.
//
//   Progress progress(600, "epoch 1");
//   for (std::int64_t i : progress) progress.show("loss", train(...));
//
//   epoch 1  [==========>         ]  312/600  841/s  0.3 s left  loss 0.4171
//
// Where nobody watches, in a file or a log, a line each ten seconds and one at the end. An Array that is shown is read only when a line is
// written, so that a GPU does not wait for each step. Not for several threads. See tests/train/progress_test.cpp.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <damo/array.hpp>

namespace damo {

struct ProgressOptions {
  std::FILE* out = stderr;
  std::optional<bool> is_terminal = {};   ///< unless told, what the system says of out
  std::optional<double> seconds = {};     ///< between lines; 0.1 on a terminal, else 10
};

class Progress {
 public:
  explicit Progress(std::int64_t count, std::string title = {}, ProgressOptions options = {});
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Ends the line of a loop that was left early.
  ~Progress();

  /// A value behind the others; of a name that was shown before, in its place.
  void show(const std::string& name, double value);
  /// Of one element.
  void show(const std::string& name, const Array& value);
  /// One step further; a loop over this does it.
  void advance();
  std::int64_t done() const { return done_; }

  class Iterator {
   public:
    std::int64_t operator*() const { return progress_->done_; }
    Iterator& operator++() {
      progress_->advance();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return progress_->done_ >= progress_->count_; }

   private:
    friend class Progress;
    explicit Iterator(Progress* progress) : progress_(progress) {}
    Progress* progress_;
  };
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  using Clock = std::chrono::steady_clock;
  void write();
  std::int64_t count_, done_ = 0;
  std::string title_;
  std::FILE* out_;
  bool is_terminal_, is_line_open_ = false;
  double seconds_between_;
  Clock::time_point begin_, next_;
  std::vector<std::pair<std::string, std::variant<double, Array>>> shown_;
};

}  // namespace damo
