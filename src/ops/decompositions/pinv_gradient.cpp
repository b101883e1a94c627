#include "ops/decompositions/pinv_gradient.hpp"

#include <damo/custom_gradient.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>

#include "graph/user_line.hpp"

namespace damo {
namespace {

Variable turned(const Variable& x) { return swap_axes(x, -1, -2); }

/// Orthonormal columns, and at i, j what x - M x N has of the right side's part along left i and right j beside that part itself: r^2 / (1 - r^2) with r^2 = M's eigenvalue i times N's j, which is below 1.
struct Bases {
  Variable left, right, share;
};

/// x of x - m x n = q, for symmetric m and n with these eigenvectors, and 0 beside them.
Variable stein(const Variable& m, const Variable& n, const Variable& q, const Bases& bases, SourceLine line) {
  const Variable parts = matmul(turned(bases.left), matmul(q, bases.right));
  const Variable x = q + matmul(bases.left, matmul(bases.share * parts, turned(bases.right)));
  return with_gradient(
      x, {m, n, q}, [bases, line](auto in, auto out, auto gradients) -> Gradients {
        const BuiltAt here(line);
        const Variable y = stein(in[0], in[1], gradients[0], bases, line);
        return {matmul(matmul(y, in[1]), turned(out[0])), matmul(turned(out[0]), matmul(in[0], y)), y};
      },
      line);
}

/// The pairs of a kept left vector and a right one that is not. rest: a2; g: the transposed gradient.
Variable kept_on_the_left(const Variable& a, const Variable& p, const Variable& rest, const Variable& g, const Bases& bases, SourceLine line) {
  const Variable pt = turned(p), both = matmul(pt, matmul(p, g + matmul(matmul(pt, turned(g)), rest)));
  return stein(matmul(pt, p), matmul(turned(rest), rest), both - matmul(matmul(both, p), a), bases, line);
}

}  // namespace

Variable gradient_of_pinv(const Variable& a, const Variable& p, const Variable& gradient, const SingularValues& factors, const Variable& inverses, SourceLine line) {
  const BuiltAt here(line);
  const Variable u = factors.u, v = turned(factors.vt), pt = turned(p), rest = a - matmul(matmul(a, p), a);
  const Variable others = where(eq(inverses, 0.0), factors.values, 0.0), squares = sqr(expand_dims(inverses, -1) * expand_dims(others, -2)), share = squares / (1.0 - squares);
  const Variable left = kept_on_the_left(a, p, rest, turned(gradient), {u, v, share}, line), right = kept_on_the_left(turned(a), pt, turned(rest), gradient, {v, u, share}, line);
  return left + turned(right) - matmul(matmul(pt, gradient), pt);
}

}  // namespace damo
