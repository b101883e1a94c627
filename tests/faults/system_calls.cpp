// The C library's functions that Damo asks for files, memory and threads. What an executable defines is what its shared
// libraries call too, so the streams of the C++ library have points here as well. Each passes on to the next definition:
// the C library's, or a sanitizer's.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "faults/injection.hpp"

namespace {

using damo::faults::Injection;
using damo::faults::Kind;

template <class Function>
Function* next(const char* name) {
  const damo::faults::Paused paused;
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool fails(const char* what, int error) {
  if (!Injection::here(Kind::kSystemCall, what)) return false;
  errno = error;
  return true;
}

}  // namespace

#define DAMO_NEXT(name) static const auto real = next<decltype(name)>(#name)

extern "C" {

int open(const char* path, int flags, ...) {
  DAMO_NEXT(open);
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fails("open", EMFILE) ? -1 : real(path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  DAMO_NEXT(openat);
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fails("openat", EMFILE) ? -1 : real(directory, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  DAMO_NEXT(fopen);
  return fails("fopen", EMFILE) ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  DAMO_NEXT(fopen64);
  return fails("fopen64", EMFILE) ? nullptr : real(path, mode);
}

ssize_t read(int file, void* to, std::size_t bytes) {
  DAMO_NEXT(read);
  return fails("read", EIO) ? -1 : real(file, to, bytes);
}
/// A full disk takes a part of what it is given before it refuses the rest.
ssize_t write(int file, const void* from, std::size_t bytes) {
  DAMO_NEXT(write);
  if (bytes > 1 && fails("write of all bytes", 0)) return real(file, from, bytes / 2);
  return fails("write", ENOSPC) ? -1 : real(file, from, bytes);
}
ssize_t writev(int file, const iovec* parts, int count) {
  DAMO_NEXT(writev);
  return fails("writev", ENOSPC) ? -1 : real(file, parts, count);
}
int fsync(int file) {
  DAMO_NEXT(fsync);
  return fails("fsync", EIO) ? -1 : real(file);
}
int fstat(int file, struct stat* status) noexcept {
  DAMO_NEXT(fstat);
  return fails("fstat", EIO) ? -1 : real(file, status);
}
int mkdir(const char* path, mode_t mode) noexcept {
  DAMO_NEXT(mkdir);
  return fails("mkdir", EACCES) ? -1 : real(path, mode);
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  DAMO_NEXT(renameat);
  return fails("renameat", EIO) ? -1 : real(from_directory, from, to_directory, to);
}
int rename(const char* from, const char* to) noexcept {
  DAMO_NEXT(rename);
  return fails("rename", EIO) ? -1 : real(from, to);
}
int shm_open(const char* name, int flags, mode_t mode) {
  DAMO_NEXT(shm_open);
  return fails("shm_open", EMFILE) ? -1 : real(name, flags, mode);
}
int posix_fallocate(int file, off_t from, off_t bytes) {
  DAMO_NEXT(posix_fallocate);
  return Injection::here(Kind::kSystemCall, "posix_fallocate") ? ENOSPC : real(file, from, bytes);
}
void* mmap(void* place, std::size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  DAMO_NEXT(mmap);
  return fails("mmap", ENOMEM) ? MAP_FAILED : real(place, bytes, rights, flags, file, offset);
}
int mprotect(void* place, std::size_t bytes, int rights) noexcept {
  DAMO_NEXT(mprotect);
  return fails("mprotect", ENOMEM) ? -1 : real(place, bytes, rights);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  DAMO_NEXT(posix_memalign);
  return Injection::here(Kind::kAllocation, "posix_memalign") ? ENOMEM : real(memory, alignment, bytes);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) noexcept {
  DAMO_NEXT(pthread_create);
  return Injection::here(Kind::kSystemCall, "pthread_create") ? EAGAIN : real(thread, attributes, start, argument);
}
}
