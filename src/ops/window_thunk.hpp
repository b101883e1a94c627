// Thunks that put tensors together: each kernel writes one window of the output's buffer.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <damo/op.hpp>
#include "runtime/kernel/layout.hpp"

namespace damo {

/// What one kernel reads and writes.
struct Window {
  int input = 0;     ///< of the node
  Op::Layout from;   ///< of the input, which broadcasts to the window
  Op::Layout to;     ///< of the output
  std::optional<FrameLayout> frame = {};  ///< around the input, whose shape in `from` is the window's; of sets, where the target's kernels find frames
};

/// What of x lies from `first` on along the axis, `count` of it.
Op::Layout between(const Op::Layout& x, int axis, std::int64_t first, std::int64_t count);

enum class WindowWrite {
  kSet,
  kAdd,
  kSetApart,  ///< of an op that overwrites no input: no two windows meet, so their kernels may run side by side
};

/// Called with the layouts of inputs and output when they are new. Windows are written in order.
using Windows = std::function<std::vector<Window>(std::span<const Op::Layout> inputs, const Op::Layout& output)>;

/// Inputs have the output's dtype. What lies in place already is not written again, where each input has one window (ThunkContext::lies_in_place).
Thunk window_thunk(const Apply& node, ThunkContext& context, WindowWrite write, Windows windows);

}  // namespace damo
