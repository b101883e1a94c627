// The commands of the program `damo`, one a file. Each writes to standard output and gives the exit code.
#pragma once
#include <string>

namespace damo::tool {

int list_devices(bool json);
/// 1 if the default device cannot run a kernel, else 0.
int run_doctor(bool json);

enum class OpsFormat { kTable, kMarkdown, kJson };
int list_ops(OpsFormat format);

int list_cache(bool json);
int clear_cache_files();

/// "1.50 GiB".
std::string size_text(std::size_t bytes);

}  // namespace damo::tool
