#include "runtime/cpu/launch_check.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/cpu/fault_text.hpp"

namespace damo::cpu_backend {
namespace {

constexpr std::uintptr_t kNear = std::uintptr_t{1} << 20;

std::string bytes_of(std::size_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

/// "const float *" of 4000 bytes -> "1000 of float".
std::string contents(const ParameterType& type, std::size_t bytes) {
  if (type.element.kind != ElementType::Kind::kNumber || type.element.lanes != 1) return bytes_of(bytes);
  return std::to_string(bytes / itemsize(type.element.dtype)) + " of " + std::string(damo::name(type.element.dtype));
}

std::uintptr_t distance(const MemoryRange& range, std::uintptr_t address) {
  if (address < range.begin) return range.begin - address;
  return address < range.end() ? 0 : address - range.end();
}

}  // namespace

std::string position_text(std::uintptr_t address, std::size_t bytes, std::uintptr_t begin, std::size_t size) {
  const std::uintptr_t end = begin + size;
  if (address < begin) return bytes_of(begin - address) + " before the beginning of ";
  if (address == end) return "right past the end of ";
  if (address > end) return bytes_of(address - end) + " past the end of ";
  return "its last " + bytes_of(address + bytes - end) + " past the end of ";
}

LaunchCheck::LaunchCheck(const Launch& launch, std::span<const MemoryRange> arrays, std::span<const MemoryRange> lent, MemoryRange variables)
    : shared_(launch.table.shared),
      dynamic_offset_((launch.static_shared_bytes + 63) / 64 * 64),
      dynamic_bytes_(launch.dynamic_shared_bytes) {
  add(arrays, "an array");
  add(lent, "host memory lent to the device");
  if (variables.bytes > 0) known_.push_back({variables, "the module's variables"});
  name_arguments(launch);
  merge();
}

void LaunchCheck::add(std::span<const MemoryRange> ranges, const char* name) {
  for (const MemoryRange& range : ranges) known_.push_back({range, name + (", " + bytes_of(range.bytes))});
}

void LaunchCheck::name_arguments(const Launch& launch) {
  for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
    const ParameterType& type = launch.parameters[i];
    if (type.kind != ParameterType::Kind::kPointer && type.kind != ParameterType::Kind::kStrided) continue;
    std::uintptr_t address = 0;
    std::memcpy(&address, launch.arguments[i], sizeof address);  // a Strided begins with its pointer
    for (Named& known : known_) {
      if (distance(known.range, address) > 0 || address == known.range.end() || known.name.starts_with("argument")) continue;
      const std::string name = i < launch.table.parameters.size() ? " (" + launch.table.parameters[i] + ")" : std::string();
      known.name = "argument " + std::to_string(i + 1) + name + ", " + contents(type, known.range.bytes);
    }
  }
}

void LaunchCheck::merge() {
  for (const Named& known : known_) allowed_.push_back(known.range);
  std::sort(allowed_.begin(), allowed_.end(), [](const MemoryRange& a, const MemoryRange& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const MemoryRange& range : allowed_) {
    if (kept > 0 && range.begin < allowed_[kept - 1].end()) {
      MemoryRange& last = allowed_[kept - 1];
      last.bytes = std::max(last.end(), range.end()) - last.begin;
    } else {
      allowed_[kept++] = range;
    }
  }
  allowed_.resize(kept);
}

bool LaunchCheck::contains(std::uintptr_t address, std::size_t bytes) const {
  const auto after = std::upper_bound(allowed_.begin(), allowed_.end(), address, [](std::uintptr_t a, const MemoryRange& r) { return a < r.begin; });
  if (after == allowed_.begin()) return false;
  const MemoryRange& range = after[-1];
  return address < range.end() && bytes <= range.end() - address;
}

std::string LaunchCheck::position(std::uintptr_t address, std::size_t bytes) const {
  if (address < kNullRange) return "next to a null pointer";
  const Named* nearest = nullptr;
  std::uintptr_t least = kNear;
  for (const Named& known : known_) {
    const std::uintptr_t away = distance(known.range, address);
    // Of two that are as near the argument is meant.
    if (away > least || (nearest && away == least && !known.name.starts_with("argument"))) continue;
    least = away;
    nearest = &known;
  }
  if (!nearest) return "far from every array of the device";
  return position_text(address, bytes, nearest->range.begin, nearest->range.bytes) + nearest->name;
}

}  // namespace damo::cpu_backend
