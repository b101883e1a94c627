// The commands of the program `damo`, one a file. Each writes to standard output and gives the exit code.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace damo::tool {

/// Paths and variables may hold any bytes; what is no UTF-8 is replaced in JSON.
inline constexpr auto kReplaced = nlohmann::json::error_handler_t::replace;

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
