#include "runtime/cpu/plugin_search.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "graph/base/environment.hpp"

namespace damo::cpu_backend {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// The whole path of the file that is mapped at an address.
std::string mapped_file(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) != 2 || wanted < begin || wanted >= end) continue;
    const std::size_t path = line.find('/');
    return path == std::string::npos ? std::string() : line.substr(path);
  }
  return {};
}

/// The library or executable that this code is linked into. The loader knows a library by the name that it was opened by, which may be a relative one.
std::string own_file() {
  Dl_info info;
  const void* const own = reinterpret_cast<void*>(&own_file);
  const std::string name = dladdr(own, &info) != 0 && info.dli_fname ? info.dli_fname : "";
  return name.starts_with('/') ? name : mapped_file(own);
}

std::string executable() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

/// Where the loader would look for a library that this code opens: LD_LIBRARY_PATH, RUNPATH, the system's.
std::vector<std::string> loader_directories() {
  void* own = dlopen(own_file().c_str(), RTLD_LAZY | RTLD_NOLOAD);  // null for the program's own file
  if (!own) own = dlopen(nullptr, RTLD_LAZY);
  std::vector<std::string> directories;
  Dl_serinfo head;
  if (own && dlinfo(own, RTLD_DI_SERINFOSIZE, &head) == 0) {
    std::vector<std::max_align_t> memory(head.dls_size / sizeof(std::max_align_t) + 1);
    auto* const list = reinterpret_cast<Dl_serinfo*>(memory.data());
    list->dls_size = head.dls_size;
    list->dls_cnt = head.dls_cnt;
    if (dlinfo(own, RTLD_DI_SERINFO, list) == 0) {
      for (unsigned i = 0; i < list->dls_cnt; ++i) directories.emplace_back(list->dls_serpath[i].dls_name);
    }
  }
  if (own) dlclose(own);
  return directories;
}

/// Whether one who may write to it is trusted as the program itself is.
bool is_trusted(uid_t user) {
  struct stat program;
  return user == 0 || user == geteuid() || (stat("/proc/self/exe", &program) == 0 && user == program.st_uid);
}

std::string who_else_writes_here(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return path + " cannot be looked at";
  if (!is_trusted(status.st_uid)) return "user " + std::to_string(status.st_uid) + " owns " + path;
  if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0) return {};  // entries are their owners' alone
  if ((status.st_mode & S_IWOTH) != 0) return "everybody can write to " + path;
  // root's groups are the system's choice (/usr/local of group staff); a user's own group is the user
  if ((status.st_mode & S_IWGRP) != 0 && status.st_uid != 0 && status.st_gid != getegid()) {
    return "group " + std::to_string(status.st_gid) + " can write to " + path;
  }
  return {};
}

}  // namespace

std::vector<std::string> plugin_candidates(const std::string& file) {
  if (const std::string chosen = environment("DAMO_PLUGIN_DIR"); !chosen.empty()) return {chosen + "/" + file};
  std::vector<std::string> candidates;
  const auto add = [&](const std::string& directory) {
    if (!directory.starts_with('/')) return;  // what a relative name means is the caller's directory's business
    std::string path = std::filesystem::path(directory + "/" + file).lexically_normal().string();
    if (std::find(candidates.begin(), candidates.end(), path) == candidates.end()) candidates.push_back(std::move(path));
  };
  for (const std::string& base : {directory_of(own_file()), directory_of(executable())}) {
    add(base);
    add(base + "/damo");
    add(base + "/../lib/damo");
  }
  for (const std::string& directory : loader_directories()) add(directory);
  add(DAMO_PLUGIN_INSTALL_DIR);
  return candidates;
}

std::string who_else_writes(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::canonical(path, error);
  if (error) return path + " cannot be looked at";
  for (;; at = at.parent_path()) {
    if (std::string problem = who_else_writes_here(at.string()); !problem.empty()) return problem;
    if (at == at.parent_path()) return {};
  }
}

bool is_cut_short(const std::string& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](std::uint64_t offset, auto& record) {
    return file.seekg(static_cast<std::streamoff>(offset)) && file.read(reinterpret_cast<char*>(&record), sizeof record);
  };
  ElfW(Ehdr) header;
  if (error || !read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;  // of what is no library the loader says so
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!read(header.e_phoff + std::uint64_t{i} * header.e_phentsize, segment)) return true;
    if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)) return true;
  }
  return false;
}

}  // namespace damo::cpu_backend
