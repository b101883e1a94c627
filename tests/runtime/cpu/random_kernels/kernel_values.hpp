// KernelValues: what a random kernel computes with: the elements that belong to a thread, under the ways in which programs write
// their places, and numbers made from them, from variables and from what is shared.
#pragma once
#include <utility>
#include <vector>

#include "runtime/cpu/random_kernels/choices.hpp"
#include "runtime/cpu/random_kernels/constructs.hpp"

namespace damo::random_kernels {

/// How the elements of a thread lie in a.
enum class Layout { kSideBySide, kAcrossGrid, kAcrossBlock };

inline bool is_power_of_two(unsigned value) { return (value & (value - 1)) == 0; }

class KernelValues : protected Choices {
 public:
  explicit KernelValues(std::uint64_t seed) : Choices(seed) { program_.seed = seed; }

 protected:
  /// The place in a of a thread's element: one of the ways in which programs write it.
  std::string index_of(const std::string& element);
  /// One of the first limit elements, as text with a "$" if there is an expression in it.
  std::pair<std::string, std::vector<Node>> element_below(unsigned limit);
  bool is_half() const { return program_.element == Element::kHalf; }
  bool is_float() const { return program_.element == Element::kFloat || is_half(); }
  /// Whole numbers that the element holds exactly are below.
  std::string mask() const { return is_half() ? "1023u" : "65535u"; }
  std::string real(const std::string& number) const { return is_half() ? "__float2half(float(" + number + "))" : "float(" + number + ")"; }
  std::string number_of(const std::string& element) const;
  bool is_vector() const { return program_.element == Element::kUint2 || program_.element == Element::kUint4; }
  std::string member();
  /// An element of the thread's own, to read or to write.
  Node place();

  /// Which all threads of a block agree on.
  Node same(unsigned depth);
  /// Of a thread.
  Node value(unsigned depth);
  Values values();
  Node element_value();
  std::string threads() const { return has_left_ ? "live" : "unsigned(B)"; }

  struct Counter {
    std::string name;
    unsigned limit;  ///< it stays below
  };
  Program program_;
  unsigned axes_ = 1, each_ = 1, b_limit_ = 1;
  Layout layout_ = Layout::kAcrossGrid;
  bool has_barriers_ = false, has_left_ = false;
  bool is_tiny_ = false;   ///< a few statements
  bool is_plain_ = false;  ///< a short program, of the kind that people write
  bool readable_ = false;  ///< shared memory is read by all: nobody writes
  std::vector<Counter> counters_, same_counters_;

 private:
  Node tiny_leaf();
  Node leaf();
};

}  // namespace damo::random_kernels
