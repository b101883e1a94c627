// Of CudaEmitter: arrays amid a frame (framed.hpp). An element is read where its place along each axis with a frame, less those before the array, is one of the array's.
#include "runtime/cuda/emitter.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

bool CudaEmitter::is_framed_along(int i, int axis) const {
  const FramedArray* frame = layout_.frame_of(i);
  return frame && (frame->axes >> (layout_.rank - 1 - axis) & 1u);
}

/// c1_0: where the place c1 lies along axis 1 of array 0 that has a frame there. Of 32 bits one before the array is beyond all extents.
void CudaEmitter::emit_frames(const std::string& indent) {
  for (const FramedArray& frame : layout_.framed) {
    for (int axis = 0; axis < layout_.rank; ++axis) {
      if (!is_framed_along(frame.array, axis)) continue;
      const std::string n = number(frame.array), at = number(axis);
      line(indent + "const index c" + at + "_" + n + " = c" + at + " - a.before" + n + "[" + at + "];");
    }
  }
}

/// Whether the place is one of the array's.
std::string CudaEmitter::inside(int i) const {
  const std::string type = layout_.wide ? "u64" : "u32";
  std::string all;
  for (int axis = 0; axis < layout_.rank; ++axis) {
    if (!is_framed_along(i, axis)) continue;
    const std::string n = number(i), at = number(axis);
    all += (all.empty() ? "" : " & ") + ("(" + type + "(c" + at + "_" + n + ") < " + type + "(a.inside" + n + "[" + at + "]))");
  }
  return "(" + all + ")";
}

/// The load of a vector, all of whose places lie on one side of each border.
std::string CudaEmitter::framed(int i, const std::string& load) const {
  if (!layout_.frame_of(i)) return load;
  return "if " + inside(i) + " { " + load + " } else { for (int k = 0; k < " + number(schedule_.vector) + "; ++k) x" + number(i) + "[u].e[k] = a.frame" + number(i) + "[0]; }";
}

}  // namespace damo
