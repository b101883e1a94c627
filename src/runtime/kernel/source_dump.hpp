// DAMO_DUMP=directory: each source that is compiled, or loaded from the disk cache, is written there, under its cache
// key (.cpp: a generated kernel for the CPU, .cu: any other).
#pragma once
#include <string>

#include "runtime/backend.hpp"

namespace damo {

/// Does nothing unless DAMO_DUMP is set. Throws OptionError if the file cannot be written: it was asked for.
void dump_source(const CompileRequest& request, const std::string& key, DeviceKind kind);

}  // namespace damo
