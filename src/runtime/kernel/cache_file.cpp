#include "runtime/kernel/cache_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace damo {
namespace {

struct Head {
  char magic[8];
  std::uint64_t format;
  char key[64];
  std::uint64_t payload_bytes;
  std::uint64_t checksum;
};
static_assert(sizeof(Head) == 96);

constexpr char kMagic[8] = {'d', 'a', 'm', 'o', 'c', 'o', 'd', 'e'};
constexpr std::uint64_t kFormat = 1;

/// Finds damage, not malice (the directory's rights are for that): eight bytes a step, because it runs over every
/// kernel that is loaded. Each step is a bijection of the state, so a change of one word always shows.
std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t state = 0x9e3779b97f4a7c15u + bytes.size();
  const auto mix = [&](std::uint64_t word) { state = std::rotl((state ^ word) * 0xff51afd7ed558ccdu, 29); };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    mix(word);
  }
  std::uint64_t rest = 0;
  if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  mix(rest);
  return state ^ (state >> 32);
}

Head head_of(std::span<const std::byte> payload, const std::string& key) {
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.format = kFormat;
  std::memcpy(head.key, key.data(), std::min(key.size(), sizeof head.key));
  head.payload_bytes = payload.size();
  head.checksum = checksum(payload);
  return head;
}

bool read_all(int file, void* to, std::size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = ::read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  sigemptyset(&signal_);
  sigaddset(&signal_, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signal_, &before_);
}

NoFileSizeSignal::~NoFileSizeSignal() {
  if (sigismember(&before_, SIGXFSZ) == 1) return;  // the program's business
  const int why = errno;
  constexpr timespec kNow{};
  while (sigtimedwait(&signal_, nullptr, &kNow) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = why;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor create_temporary(int directory, std::string& name, unsigned mode) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) break;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(random));
    name = kTemporaryPrefix + std::string(digits);
    const int file = openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file >= 0 || errno != EEXIST) return Descriptor(file);
  }
  return Descriptor(-1);
}

bool write_all(const Descriptor& file, std::span<const std::byte> bytes) {
  const NoFileSizeSignal no_signal;
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.number(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

std::optional<std::vector<std::byte>> read_cache_file(const Descriptor& file, std::size_t file_bytes,
                                                      const std::string& key) {
  Head head;
  if (file_bytes < sizeof head || !read_all(file.number(), &head, sizeof head)) return std::nullopt;
  if (head.payload_bytes != file_bytes - sizeof head) return std::nullopt;  // before its size is believed
  std::vector<std::byte> payload(head.payload_bytes);
  if (!read_all(file.number(), payload.data(), payload.size())) return std::nullopt;
  const Head wanted = head_of(payload, key);
  if (std::memcmp(&head, &wanted, sizeof head) != 0) return std::nullopt;
  return payload;
}

bool write_cache_file(const Descriptor& file, std::span<const std::byte> payload, const std::string& key) {
  const Head head = head_of(payload, key);
  return write_all(file, std::as_bytes(std::span(&head, 1))) && write_all(file, payload);
}

}  // namespace damo
