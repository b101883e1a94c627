// JoinedKernel: many calls of one elementwise kernel, each on arrays of its own, as one launch: what an optimizer's step over
// hundreds of tensors needs, whose kernels alone would take less time than their launches.
//
// The members' specs differ in their numbers alone, so one text serves them (Layout::joined); it reads which member a block
// works for from a map and that member's arguments from a table. Both lie on the device. The map follows from shapes; a
// table has addresses. Two are kept, as new values and old ones of shared variables may swap their buffers at each call; with addresses that neither has, the one used longest ago is
// sent again. Members whose arrays are not dense (Layout::is_flat), and
// those of another index width, are launched apart. Blocks run in any order: no member may read what another one writes.
// Cost: a lookup of 4 bytes a block, on a GPU of about 1,000 elements.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include <damo/array.hpp>
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {

class JoinedKernel {
 public:
  struct Member {
    const KernelSpec* spec;
    Shape space;
    std::vector<ArrayLayout> arrays;  ///< inputs, then outputs
  };
  /// kernel: of a spec with the members' text. in_place: see Layout. flag: see ArgumentBlock::set_flag.
  JoinedKernel(SpecKernel& kernel, std::span<const Member> members, bool in_place, const void* flag = nullptr);

  /// Wants the code that a JoinedKernel of these members launches.
  static void foresee(SpecKernel& kernel, std::span<const Member> members, bool in_place, const WantKernel& want);

  void set_pointer(std::size_t member, int parameter, const void* address);
  /// Whether a table was written: what a replay of an earlier launch would read may be other addresses now.
  bool launch(void* stream);
  /// The layout whose code serves these arrays as a member; not flat: none does.
  static Layout layout_of(const SpecKernel& kernel, const Geometry& geometry, bool in_place);

 private:
  /// Each member's argument block and number of its first thread block; the last entry has the number of all. A launch that a captured graph has reads it at each launch
  /// of the graph, so the graph holds it, and it is not written again.
  struct Table {
    std::vector<const void*> addresses;  // that it was made for
    std::vector<std::byte> bytes;
    Array there;  // on the device; empty where kernels read host memory
  };
  struct Launch {
    Layout layout;
    const LoadedKernel* code = nullptr;
    LaunchConfig config;
    std::vector<ArgumentBlock> blocks;  // by member of this launch
    std::vector<std::int64_t> begins;   // the first thread block of each, and their number at the end
    std::vector<const void*> addresses;
    std::shared_ptr<Table> table, other;  // what the last launch took, and what one before took that had other addresses; null: there was none
    Array map_there;               // on the device
    std::vector<std::uint32_t> map;
    std::size_t bytes = 0;         // of all arrays
    bool is_current = false;       // the table is of these addresses
  };
  struct Place {
    int launch = -1;     // none: the member has no elements, or is launched apart
    std::size_t at = 0;  // in the launch, or among those
    bool is_apart = false;
  };
  void add(std::size_t number, const Member& member, const Geometry& geometry, const Layout& layout);
  void finish(Launch& launch);
  bool send(Launch& launch, void* stream);

  SpecKernel& kernel_;
  const void* flag_;
  std::vector<Place> places_;  // by member
  std::vector<Launch> launches_;
  std::vector<BoundKernel> apart_;
};

/// Whether one text serves both: all but the values of their numbers is equal.
bool have_one_text(const KernelSpec& a, const KernelSpec& b);

}  // namespace damo
