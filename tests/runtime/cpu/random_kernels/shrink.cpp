#include "runtime/cpu/random_kernels/shrink.hpp"

#include <algorithm>

namespace damo::random_kernels {
namespace {

using Path = std::vector<std::size_t>;

Node& at(Node& root, const Path& path) {
  Node* node = &root;
  for (const std::size_t step : path) node = &node->kids[step];
  return *node;
}

void collect(const Node& node, Path& path, Node::Kind kind, std::vector<Path>& found) {
  if (node.kind == kind) found.push_back(path);
  for (std::size_t i = 0; i < node.kids.size(); ++i) {
    path.push_back(i);
    collect(node.kids[i], path, kind, found);
    path.pop_back();
  }
}

std::vector<Path> paths_of(const Node& root, Node::Kind kind) {
  std::vector<Path> found;
  Path path;
  collect(root, path, kind, found);
  return found;
}

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails, int attempts) : best_(std::move(program)), fails_(fails), left_(attempts) {}

  Program shrink() {
    for (bool any = true; any && left_ > 0;) {
      any = false;
      any |= drop_statements();
      any |= each(Node::Kind::kStatement, [](const Node& node, std::vector<Node>& instead) {
        for (const Node& kid : node.kids) {
          if (kid.kind == Node::Kind::kBlock) instead.push_back(kid);
        }
      });
      any |= shrink_launch();
      any |= each(Node::Kind::kExpression, [](const Node& node, std::vector<Node>& instead) {
        if (node.text == "0u" || node.text == "1u") return;
        instead = {expression("0u"), expression("1u")};
        for (const Node& kid : node.kids) {
          if (kid.kind == Node::Kind::kExpression) instead.push_back(kid);
        }
      });
    }
    return best_;
  }

 private:
  bool take(const Program& candidate) {
    if (left_-- <= 0 || !fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  bool drop_statements() {
    bool any = false;
    std::vector<Path> blocks = paths_of(best_.text, Node::Kind::kBlock);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (std::size_t size = std::max<std::size_t>(at(best_.text, blocks[i]).kids.size(), 1); size > 0; size /= 2) {
        for (std::size_t first = 0; first < at(best_.text, blocks[i]).kids.size() && left_ > 0;) {
          Program candidate = best_;
          std::vector<Node>& kids = at(candidate.text, blocks[i]).kids;
          const std::size_t end = std::min(first + size, kids.size());
          kids.erase(kids.begin() + static_cast<std::ptrdiff_t>(first), kids.begin() + static_cast<std::ptrdiff_t>(end));
          if (take(candidate)) any = true;
          else first = end;
        }
      }
      blocks = paths_of(best_.text, Node::Kind::kBlock);  // those before this one are where they were
    }
    return any;
  }

  template <class Choices>
  bool each(Node::Kind kind, const Choices& choices) {
    bool any = false;
    std::vector<Path> paths = paths_of(best_.text, kind);
    for (std::size_t i = 0; i < paths.size() && left_ > 0; ++i) {
      std::vector<Node> instead;
      choices(at(best_.text, paths[i]), instead);
      for (Node& node : instead) {
        Program candidate = best_;
        at(candidate.text, paths[i]) = std::move(node);
        if (!take(candidate)) continue;
        any = true;
        paths = paths_of(best_.text, kind);
        break;
      }
    }
    return any;
  }

  bool shrink_launch() {
    bool any = false;
    const auto try_number = [&](auto member) {
      for (const bool to_least : {true, false}) {
        Program candidate = best_;
        unsigned& value = member(candidate);
        const unsigned least = &value == &candidate.left_out || &value == &candidate.leaving ? 0 : 1, smaller = to_least ? least : value / 2;
        if (smaller >= value || smaller < least) continue;
        value = smaller;
        any |= take(candidate);
      }
    };
    for (std::size_t axis = 0; axis < 3; ++axis) {
      try_number([axis](Program& p) -> unsigned& { return p.launch.grid[axis]; });
      try_number([axis](Program& p) -> unsigned& { return p.launch.block[axis]; });
    }
    try_number([](Program& p) -> unsigned& { return p.left_out; });
    try_number([](Program& p) -> unsigned& { return p.leaving; });
    return any;
  }

  Program best_;
  const std::function<bool(const Program&)>& fails_;
  int left_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int attempts) { return Shrinker(std::move(program), fails, attempts).shrink(); }

}  // namespace damo::random_kernels
