#include "ops/joined_members.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <damo/error.hpp>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/given_names.hpp"

namespace damo {
namespace {

/// In what it is joined: 16 bits and less in float.
DType held(DType dtype) { return is_narrow(dtype) ? float32 : dtype; }

/// "Joined{convert<float>(a.x + b.x), ...}" of one expression of each member, which may end in a comment.
std::string each_converted(const std::vector<JoinedMember>& members, std::string JoinedMember::*text) {
  std::string all;
  for (const JoinedMember& member : members) all += (all.empty() ? "" : ", ") + ("convert<" + value_type(member.dtype)) + ">(" + member.*text + ((member.*text).find("//") == std::string::npos ? ")" : "\n)");
  return "Joined{" + all + "}";
}

}  // namespace

void check_members(const std::string& what, const std::vector<JoinedMember>& members) {
  if (members.empty()) throw GraphError(what + " has no members", "give each value that is joined a name, a dtype, element, neutral and reduce");
  std::set<std::string> names;
  for (const JoinedMember& member : members) {
    if (const std::string why = why_no_name(member.name); !why.empty()) throw GraphError(what + " has a member \"" + member.name + "\", which is " + why, "texts say a.name: give it another name");
    if (!names.insert(member.name).second) throw GraphError(what + " has two members " + member.name, "texts say a." + member.name + ": give each a name of its own");
    if (std::find(std::begin(kAllDTypes), std::end(kAllDTypes), member.dtype) == std::end(kAllDTypes)) throw GraphError(what + ": member " + member.name + " has no dtype that there is", "float32, say");
    const auto require = [&](const std::string& text, const char* name, const char* remedy) {
      if (text.empty()) throw GraphError(what + ": member " + member.name + " has no " + name, remedy);
    };
    require(member.element, "element", "say what one element gives: \"x0\"");
    require(member.neutral, "neutral value", "say what no elements give: \"0\"");
    require(member.reduce, "rule to join two values", ("say what a and b give: \"a." + member.name + " + b." + member.name + "\"").c_str());
  }
  if (const int bytes = bytes_of(members); bytes > kMostJoinedBytes) {
    throw GraphError(what + " has members of " + std::to_string(bytes) + " bytes, at most " + std::to_string(kMostJoinedBytes) + " are joined together", "join fewer values at once, or smaller ones");
  }
}

int bytes_of(const std::vector<JoinedMember>& members) {
  std::size_t bytes = 0, widest = 1;
  const auto aligned = [&](std::size_t to) { return (bytes + to - 1) / to * to; };
  for (const JoinedMember& member : members) {
    const std::size_t own = itemsize(held(member.dtype));
    bytes = aligned(own) + own;
    widest = std::max(widest, own);
  }
  return static_cast<int>(aligned(widest));
}

void join_members(const std::string& what, Step& step, const std::vector<JoinedMember>& members, std::string before) {
  check_members(what, members);
  Join join;
  join.bytes = bytes_of(members);
  for (const JoinedMember& member : members) join.members.emplace_back(value_type(member.dtype), member.name);
  join.neutral = each_converted(members, &JoinedMember::neutral);
  join.before = std::move(before);
  join.reduce = each_converted(members, &JoinedMember::reduce);
  step.code = each_converted(members, &JoinedMember::element);
  step.join = std::move(join);
}

}  // namespace damo
