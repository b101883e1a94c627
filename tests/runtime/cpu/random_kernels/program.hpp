// A random CUDA C program: one kernel as a tree of text, its launch, and the arrays it works on. Every program gives one
// right answer, whatever the order in which its threads run: see kernel_writer.hpp for how that comes about.
//
// The kernel's parameters are the same in all programs:
//   A* a, A* b         elements that belong to threads; b is a, lies in a, or is an array of its own
//   const unsigned* c  read by all, never written
//   unsigned* acc      cells for atomics, a lock, and what it guards (kLock and so on)
//   const unsigned* bounds  numbers that loops end at: threads of the grid times E, E, threads of a block times E, then 1, 2, 3, ...
//   unsigned n         threads that pass the guard on the grid, if there is one
//   unsigned total, e, live  threads of the grid; E; threads of a block that go on after the first barrier
//   Given_@ given      a struct, by value
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace damo::random_kernels {

struct Node {
  enum class Kind {
    kBlock,       ///< statements: any may be dropped
    kStatement,   ///< may be replaced by one of its blocks
    kExpression,  ///< any number of type unsigned: may be replaced by a number, or by an expression in it
    kFixed        ///< stays as it is, but for what is in it
  };
  Kind kind = Kind::kFixed;
  std::string text;  ///< "$" stands for the next of .kids
  std::vector<Node> kids = {};

  std::string print() const;
};

inline Node expression(std::string text, std::vector<Node> kids = {}) { return {Node::Kind::kExpression, std::move(text), std::move(kids)}; }
inline Node statement(std::string text, std::vector<Node> kids = {}) { return {Node::Kind::kStatement, std::move(text), std::move(kids)}; }
inline Node fixed(std::string text, std::vector<Node> kids = {}) { return {Node::Kind::kFixed, std::move(text), std::move(kids)}; }
inline Node block(std::vector<Node> kids = {}) { return {Node::Kind::kBlock, {}, std::move(kids)}; }

/// Of a and b.
enum class Element { kUnsigned, kInt, kFloat, kHalf, kLong, kByte, kUint2, kUint4, kStruct };
std::size_t bytes_of(Element element);

/// What kernels are given by value.
struct Given {
  unsigned x = 5;
  unsigned short y = 9, z = 3;
  unsigned words[4] = {11, 7, 3, 2};
  float w = 2;
};

/// Places in acc, in words.
enum Cell { kAtomics = 0, kLock = 64, kTicket = 65, kServing = 66, kGuarded = 72, kGuardedByTicket = 76, kCells = 80 };

struct Launch {
  std::array<unsigned, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  unsigned shared_bytes = 0;  ///< dynamic, for each thread of a block
  unsigned blocks() const { return grid[0] * grid[1] * grid[2]; }
  unsigned threads() const { return block[0] * block[1] * block[2]; }
  unsigned total() const { return blocks() * threads(); }
};

struct Program {
  std::uint64_t seed = 0;
  Node text;
  Launch launch;
  Element element = Element::kUnsigned;
  unsigned each = 1;          ///< E: elements of a that belong to each thread
  unsigned b_each = 0;        ///< b begins so many elements of each thread into a; kOwn: it is another array
  bool b_is_blocked = true;   ///< a thread's elements lie side by side
  unsigned left_out = 0;      ///< threads of the grid that the guard keeps out
  unsigned leaving = 0;       ///< threads of a block that return at the first barrier
  static constexpr unsigned kOwn = ~0u;

  unsigned n() const { return launch.total() - (left_out < launch.total() ? left_out : launch.total() - 1); }
  unsigned live() const { return launch.threads() - (leaving < launch.threads() ? leaving : launch.threads() - 1); }
  std::size_t elements() const { return std::size_t{launch.total()} * each; }
  /// The text of a kernel of this name.
  std::string source(const std::string& kernel) const;
  /// "grid (2, 1, 1), block (32, 1, 1), ...".
  std::string launch_text() const;
};

/// What the arrays hold before the launch.
struct Arrays {
  explicit Arrays(const Program& program);
  std::vector<std::byte> a, b;  ///< b empty unless it is an array of its own
  std::vector<std::uint32_t> c, acc, bounds;
  /// Of b in a, in bytes.
  std::size_t b_offset = 0;
  /// "a[12]", "acc[3]": the first byte in which others differ; empty if none does.
  std::string difference(const Arrays& other) const;
  std::uint64_t hash() const;
};

}  // namespace damo::random_kernels
