// What the texts of CUDA kernels that reduce stand on.
#pragma once
#include <string>

namespace damo {

/// load_again<N>(p): a vector that other blocks read too, which stays in the caches. exchanged(value, mask) and of_lane(value, lane): values of
/// other lanes of the warp, in words of 32 bits.
extern const char* const kCudaRows;
/// gathered<N>(from, apart): a vector whose pieces lie so far apart; scatter(to, apart, vector) writes one.
extern const char* const kCudaHeld;
/// Of the blocks of a cluster (sm_90): arrive() and leave(), which wait for all of them, give(place, value, block), which writes to that block's
/// shared memory at the place that `place` has in one's own, and taken(place).
extern const char* const kCudaCluster;
/// What is on its way to shared memory (from sm_80 on, else copied at once): fetch<N>(to, from) copies N bytes, fetch_some<N>(to, from, begin, end) those elements
/// of a vector of N, and fetched() ends what belongs together, a row say; await<N>() waits for all but the last N of these. A thread reads what it has asked for itself.
extern const char* const kCudaAhead;
/// Of vectors of bfloat16 that several passes read: load_words<N>(p), as words, and element(vector, k), one of them as a float.
extern const char* const kCudaWords;
/// Of runs of rows, with kCudaAhead, by the lanes of a warp: fetch_run<N>(to, from, lane) asks for N bytes in vectors of 16, store_run<N>(to, from, lane) writes them; fetch_each(to, from, many, lane) and
/// store_each likewise element by element; put<N>(p, vector) writes a vector to shared memory.
extern const char* const kCudaRuns;
/// Of clusters that stay: open_meeting(b), before the blocks know each other; expect(b, bytes), by one thread, of all that comes to it;
/// send(place, value, b, block) to that block's place and meeting; meet(b, parity) waits for them. The parity turns from use to use.
extern const char* const kCudaMeetings;
/// part_of(own, all): what exponentials against `own`, the part's maximum, are times to be against the row's (own_maximum.hpp); least: -inf.
extern const char* const kCudaOwnMaximum;
/// is_place(at, value): whether the place of an element, in 32 bits, is that of 64, which a row's elements have in common; holds<N>(at, value): whether one of N places from there is.
extern const char* const kCudaIsPlace;
/// divide(x, divisor(y)): x / y for a y that divides many, to the last bit of a normal quotient where x is 2^-102 or more, else within an ulp: what a remainder of less lacks is below the least float. In float. divide_once: to an ulp, and to the last bit where 16 bits hold the quotient; divide_to_half: within 2 ulp, for what is rounded to 16 bits.
extern const char* const kCudaDivide;

/// over(x, count_of(n)): x / n to the last bit, or of quotients below 2^-104 within an ulp, for the number of a row's elements, 2^20 at most.
extern const char* const kCudaCount;

}  // namespace damo
