// Makes a source text out of a number: a seed source with a few of its bytes or words changed. The same number gives the
// same text, so a number in a report is enough to see it again.
#pragma once
#include <cstdint>
#include <string>

namespace damo::cpu_backend::testing {

/// The first hostile_sources().size() numbers give those as they are, the others mutations of all sources.
std::string mutated_source(std::uint64_t number);

}  // namespace damo::cpu_backend::testing
