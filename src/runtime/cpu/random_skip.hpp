// Skipping ahead in cuRAND's XORWOW: its five words advance by a matrix over one bit, whose powers are made once.
#pragma once

namespace damo::cpu_backend {

/// words[5] moves on by count * 2^log2_step numbers. The first call makes the tables: a few ms.
void xorwow_skip(unsigned* words, unsigned long long count, int log2_step);

}  // namespace damo::cpu_backend
