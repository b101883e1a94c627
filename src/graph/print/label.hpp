// What prints and pictures call things, and how each format escapes it.
#pragma once
#include <string>
#include <string_view>

#include <damo/graph.hpp>

namespace damo {

/// "sum{axis=1}", "fused{3 ops}".
std::string op_label(const Op& op);
/// What its outputs share with its inputs: "overwrites input 0", "overwrites inputs 0, 2", "view of input 0", "input 0 where contiguous"; empty for most.
std::string aliasing_label(const FunctionGraph& graph, NodeId node);
/// Of an input, a constant or a shared variable: its name, its value, or "input 2", "constant" or "shared variable".
std::string leaf_label(const FunctionGraph& graph, ValueId value);
/// "new w" of what shared variable w becomes; empty for a result.
std::string update_label(const FunctionGraph& graph, std::size_t output);
/// 0 -> "A", 25 -> "Z", 26 -> "AA".
std::string letters(std::size_t number);
/// At most this many characters; a longer text loses its end. Does not cut inside a UTF-8 character.
std::string shortened(std::string text, std::size_t limit);

/// Characters of a UTF-8 text.
std::size_t count_characters(std::string_view text);

/// For element text and attribute values; what XML cannot hold, control characters and bytes that are no UTF-8, becomes U+FFFD.
std::string escape_xml(std::string_view text);
/// With the quotes, as UTF-8: control characters become spaces, bytes that are no UTF-8 U+FFFD.
std::string quote_dot(std::string_view text);

/// The graph of some outputs, its free inputs found by itself.
FunctionGraph snapshot(std::span<const Variable> outputs);

}  // namespace damo
