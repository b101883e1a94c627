// What the texts of CUDA kernels that scan stand on.
#pragma once

namespace damo {

/// turned(vector): from its last element to its first. of_lane_before(value, distance) and of_lane_behind: values of other lanes of the warp.
extern const char* const kCudaScan;
/// publish(state, value) and awaited<A>(state), which waits for it: what tiles tell each other through memory.
extern const char* const kCudaStates;
/// look_back<kNear>(states, tiles, tile, own, parts, join): what stands before a tile of a row.
extern const char* const kCudaLookBack;
/// ask_for(from, bytes): into the second-level cache.
extern const char* const kCudaAskFor;
/// look_up<kRadix>(states, n, first, tiles, tile, held, of_level, join): what stands before a tile of columns.
extern const char* const kCudaLookUp;

}  // namespace damo
