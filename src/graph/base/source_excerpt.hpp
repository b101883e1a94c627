// source_excerpt: the lines of a source around the errors that a compiler's log names, numbered as the compiler counts
// them (#line), each error's line marked, with a caret where the log gives a column. Errors in other files, such as
// included ones, are told from the source's by the line that the compiler shows. See tests/graph/base/source_excerpt_test.cpp.
#pragma once
#include <string>
#include <string_view>

namespace damo {

/// Three lines before and behind each of the first errors; empty if the log names no line of the source.
std::string source_excerpt(std::string_view log, std::string_view source);

/// The log up to its first errors, and how many follow.
std::string first_errors(std::string_view log);

}  // namespace damo
