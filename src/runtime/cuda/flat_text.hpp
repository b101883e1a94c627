// What the texts of flat tiles stand on (flat_schedule.hpp).
#pragma once

namespace damo {

/// With kCudaAhead, of a warp's run of elements in shared memory, which begins at `run` and, if it has Gaps, leaves 16 bytes free behind each 128: fetch_flat<W, R, Gaps>(run, from, lane) asks for R vectors of W
/// elements of each lane, store_flat writes them, and of vectors below element `many` fetch_some_flat and store_some_flat; take_flat<T, N, Gaps>(run, lane, u) gives a lane its N elements of the 32 times N that are
/// number u, and put_flat<Gaps>(run, lane, u, vector) writes them.
extern const char* const kCudaFlat;
/// divide_known(x, known_divisor(y), rare): x / y, or anything and then `rare` is true; y divides many. divide_whole(x, known_divisor(y)): likewise, of an x that is 0 or from 1 to 2^64, where the divisor's
/// limit is not negative.
extern const char* const kCudaKnownDivisor;

}  // namespace damo
