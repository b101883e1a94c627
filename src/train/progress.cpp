#include <damo/progress.hpp>

#include <unistd.h>

#include <algorithm>

namespace damo {
namespace {

std::string print(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// "0.3 s", "12 s", "3:05", "2:10:00".
std::string duration(double seconds) {
  if (seconds < 10) return print("%.1f s", seconds);
  if (seconds < 60) return print("%.0f s", seconds);
  const auto whole = static_cast<long long>(std::min(seconds, 1e9));
  char text[64];
  if (whole < 3600) std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  else std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  return text;
}

}  // namespace

Progress::Progress(std::int64_t count, std::string title, ProgressOptions options)
    : count_(count), title_(std::move(title)), out_(options.out),
      is_terminal_(options.is_terminal ? *options.is_terminal : isatty(fileno(options.out)) == 1),
      seconds_between_(options.seconds ? *options.seconds : is_terminal_ ? 0.1 : 10), begin_(Clock::now()),
      next_(begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_between_))) {}

Progress::~Progress() {
  if (is_line_open_) std::fputc('\n', out_);
}

Progress::Iterator Progress::begin() {
  done_ = 0;
  begin_ = Clock::now();
  return Iterator(this);
}

void Progress::show(const std::string& name, double value) {
  const auto found = std::find_if(shown_.begin(), shown_.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == shown_.end()) shown_.emplace_back(name, value);
  else found->second = value;
}
void Progress::show(const std::string& name, const Array& value) {
  const auto found = std::find_if(shown_.begin(), shown_.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == shown_.end()) shown_.emplace_back(name, value);
  else found->second = value;
}

void Progress::advance() {
  ++done_;
  const Clock::time_point now = Clock::now();
  if (now < next_ && done_ != count_) return;
  next_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_between_));
  write();
}

void Progress::write() {
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count(), rate = static_cast<double>(done_) / std::max(seconds, 1e-9);
  const bool is_end = done_ >= count_;
  std::string line = title_.empty() ? "" : title_ + "  ";
  if (is_terminal_) {
    constexpr std::int64_t kWidth = 20;
    const std::int64_t filled = is_end ? kWidth : done_ * kWidth / std::max<std::int64_t>(count_, 1);
    line += "[" + std::string(static_cast<std::size_t>(filled), '=') + (is_end ? "" : ">" + std::string(static_cast<std::size_t>(kWidth - filled - 1), ' ')) + "]  ";
  }
  line += std::to_string(done_) + "/" + std::to_string(count_) + "  " + print(rate < 10 ? "%.2f/s" : "%.0f/s", rate) + "  " +
          (is_end ? duration(seconds) : duration(static_cast<double>(count_ - done_) / rate) + " left");
  for (const auto& [name, value] : shown_) {
    const double number = std::holds_alternative<double>(value) ? std::get<double>(value) : std::get<Array>(value).item().as_double();
    line += "  " + name + " " + print("%.4g", number);
  }
  if (is_terminal_) line = "\r" + line + "\x1b[K";  // what a longer line before left behind goes
  is_line_open_ = is_terminal_ && !is_end;
  if (!is_line_open_) line += '\n';
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

}  // namespace damo
