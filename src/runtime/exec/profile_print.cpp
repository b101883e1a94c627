// Profile as a table.
#include <algorithm>
#include <cstdio>
#include <ostream>

#include <damo/error.hpp>
#include <damo/profile.hpp>
#include "graph/base/characters.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/module/text_file.hpp"

namespace damo {
namespace {

std::string format(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string padded(std::string text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, text.size()), ' ');
  return right ? space + text : text + space;
}

/// As a JSON string.
std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(std::string_view(text).substr(at));
    if (text[at] == '"' || text[at] == '\\') made += '\\';
    if (bytes == 0 || (bytes == 1 && static_cast<unsigned char>(text[at]) < 0x20)) made += kNoCharacter;
    else made.append(text, at, bytes);
    at += std::max<std::size_t>(bytes, 1);
  }
  return made + "\"";
}

std::vector<std::string> cells_of(const ProfileRow& row, const Profile& profile) {
  const double calls = row.calls > 0 ? static_cast<double>(row.calls) : 1, rate = row.bytes_per_second();
  const bool known = rate > 0 && profile.copy_bytes_per_second > 0;
  return {row.op,
          std::to_string(row.calls),
          format("%.1f", row.milliseconds * 1e3 / calls),
          bytes_text(static_cast<std::size_t>(static_cast<double>(row.bytes) / calls)),
          rate > 0 ? format("%.1f", rate * 1e-9) : "-",
          known ? format("%.0f %%", 100 * rate / profile.copy_bytes_per_second) : "-",
          row.where};
}

}  // namespace

std::string to_string(const Profile& profile) {
  std::vector<std::vector<std::string>> table = {{"op", "calls", "us/call", "bytes", "GB/s", "of copy", "line"}};
  for (const ProfileRow& row : profile.rows) table.push_back(cells_of(row, profile));
  std::vector<std::size_t> widths(table[0].size(), 0);
  for (const auto& cells : table) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text = "profile on " + profile.device + ": " + std::to_string(profile.calls) +
                     (profile.calls == 1 ? " call, " : " calls, ") +
                     format("%.3f ms on the host; the device's copy: ", profile.milliseconds) +
                     format("%.1f GB/s\n", profile.copy_bytes_per_second * 1e-9);
  for (const auto& cells : table) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += "  " + padded(cells[i], widths[i], i > 0 && i + 1 < cells.size());
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Profile::chrome_trace() const {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  text += "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": " + quoted(device) + "}}";
  for (const ProfileSpan& span : spans) {
    const ProfileRow& row = rows[span.row];
    const double bytes = row.calls > 0 ? static_cast<double>(row.bytes) / static_cast<double>(row.calls) : 0;
    text += ",\n{\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": " + quoted(row.op) + format(", \"ts\": %.3f", span.start_milliseconds * 1e3) + format(", \"dur\": %.3f", span.milliseconds * 1e3) +
            ", \"args\": {\"call\": " + std::to_string(span.call + 1) + ", \"line\": " + quoted(row.where) + format(", \"bytes\": %.0f", bytes) +
            format(", \"GB/s\": %.3f", span.milliseconds > 0 ? bytes / span.milliseconds * 1e-6 : 0) + "}}";
  }
  return text + "\n]}\n";
}

const Profile& Profile::write_chrome_trace(const std::string& path) const {
  write_file(path, chrome_trace());
  return *this;
}

std::ostream& operator<<(std::ostream& out, const Profile& profile) { return out << to_string(profile); }

}  // namespace damo
