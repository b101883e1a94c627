// What the compiler plugin tells of a checked kernel, in the object under damo_check_table: one line a kernel,
//   name<TAB>x,y,n<TAB>tile:0:1024,row:1088:64
// with the names of its parameters, and its static shared variables with their offsets and bytes.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace damo::cpu_backend {

struct SharedVariable {
  std::string name;
  std::size_t offset, bytes;
};

struct CheckTable {
  std::vector<std::string> parameters;
  std::vector<SharedVariable> shared;
};

/// The line of a kernel; nothing if the text has none.
std::optional<CheckTable> check_table_of(std::string_view text, std::string_view kernel);

}  // namespace damo::cpu_backend
