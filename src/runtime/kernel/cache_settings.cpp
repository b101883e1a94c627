// What the environment says about the kernel cache.
#include <charconv>
#include <limits>
#include <string_view>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/kernel/disk_cache.hpp"

namespace damo {
namespace {

std::optional<std::size_t> bytes_of(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  int shift = 0;
  if (unit == "K")
    shift = 10;
  else if (unit == "M")
    shift = 20;
  else if (unit == "G")
    shift = 30;
  else if (!unit.empty())
    return std::nullopt;
  if (value > std::numeric_limits<std::size_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

}  // namespace

std::string cache_directory_of_environment() {
  if (std::string chosen = environment("DAMO_CACHE_DIR"); !chosen.empty()) return chosen;
  // The XDG rule: a path that is not absolute counts as not set.
  if (const std::string base = environment("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/damo";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/damo";
  return {};
}

std::size_t cache_limit_of_environment() {
  const std::string text = environment("DAMO_CACHE_LIMIT");
  if (text.empty()) return std::size_t{1} << 30;
  if (const auto bytes = bytes_of(text)) return *bytes;
  throw OptionError("DAMO_CACHE_LIMIT is '" + text + "', which is no number of bytes",
                    "give bytes, or a number with K, M or G: DAMO_CACHE_LIMIT=200M");
}

}  // namespace damo
