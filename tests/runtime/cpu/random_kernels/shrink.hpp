// Makes a program that fails smaller, as long as it fails in the same way: drops statements, takes the bodies of branches and
// loops in their place, numbers for expressions, smaller launches.
#pragma once
#include <functional>

#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

/// fails(candidate) is asked at most attempts times.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int attempts);

}  // namespace damo::random_kernels
