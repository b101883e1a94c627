// The part of CudaReducingEmitter that reads: where a thread's vectors lie in each array, which of them are whole, and what is read element by element.
#include <algorithm>
#include <numeric>

#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_text.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {

/// How far behind a place of the array that is a multiple of so many elements in memory its row begins.
std::string CudaReducingEmitter::phase(int i, int elements) const {
  const std::string address = "u32(reinterpret_cast<u64>(r" + number(i) + ") / sizeof(" + stored(i) + "))";
  return (backward_ ? "(0u - " + address + " - u32(a.length)) & " : "(" + address + " + u32(begin)) & ") + number(elements - 1) + "u";
}

std::vector<int> CudaReducingEmitter::parameters() const {
  std::vector<int> all(static_cast<std::size_t>(spec_.parameter_count()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// The array by whose vectors rows that begin anywhere are taken apart.
int CudaReducingEmitter::leader() const {
  int i = 0;
  while (access(i) != Access::kRow || spec_.is_ordinals(i)) ++i;
  return i;
}

/// Rows that begin anywhere: how far behind where the leader's first vector does, and which of these arrays have vectors that lie like its.
void CudaReducingEmitter::emit_shift(const std::vector<int>& parameters) {
  line("  const u32 shift = " + phase(leader(), first_at(leader())) + ";");
  for (int i : parameters) {
    if (is_together(i)) line("  const bool whole" + number(i) + " = (" + phase(i, layout_.vector) + ") == (shift & " + number(layout_.vector - 1) + "u);");
    if (reaches(i)) emit_inner(i);
  }
}

/// Whether the array goes on in memory as far as the row's first and last vectors may, and they lie like the first array's: then all are read whole, whatever stands beside the row in them. One by one the
/// elements of those two would be waited for, 16-bit floats to be put into words, before the next vector is asked for. Rows of no elements are no memory at all, whatever their distance.
void CudaReducingEmitter::emit_inner(int i) {
  const std::string n = number(i), stride = "a.k" + n + "[0]";
  line("  const bool inner" + n + " = whole" + n + " && a.length > 0 && i64(c0) * " + stride + " >= i64(shift) && (a.kept[0] - 1 - c0) * " + stride + " >= " + number(layout_.vector - 1) + ";");
}

/// What must hold of vector u, where something must: that it begins, or ends, in the row. Of a row that the lanes hold only the first vectors
/// can begin before it, and only the last ones end behind it, of rows that begin anywhere the last but one too. Of several rows in a
/// block some may be none. Where a warp's vectors follow each other, as of prefix joins, any of the last warps' may.
std::string CudaReducingEmitter::inside(const std::string& from, const std::string& to) const {
  // Of a tile's cluster each block has a stretch of the rows, of which the last one's may end with any vector.
  const int unasked = layout_.whole && layout_.beside == 0 && block_ == layout_.lanes && !spec_.scans() ? layout_.items - (layout_.ends == Ends::kAnywhere ? 2 : 1) : 0;
  const std::string ends = to.empty() ? "" : (unasked > 0 ? "(u < " + number(unasked) + " || " + to + ")" : to);
  const std::string begins = from.empty() ? "" : (layout_.whole ? "(u > 0 || " + from + ")" : from);
  return begins + (begins.empty() || ends.empty() ? "" : " && ") + ends;
}

/// Where element `at` of the row lies, or of each of the thread's rows: k further along the row, of columns in its k-th row. An array
/// that goes along one axis has a pointer to the thread's first vector, b0, from which the others lie at distances that are known.
std::string CudaReducingEmitter::address(int i, bool k) const {
  const std::string n = number(i), further = k ? " + k" : "";
  if (is_unit(i)) return "b" + n + (backward_ ? " + -u * " : " + u * ") + number(step()) + (k && backward_ ? " + -k" : further);
  if (!moves(i)) return "r" + n + (k ? across(i) : "");
  if (!rows()) return "r" + n + " + " + element_offset(i, "at") + (k ? across(i) : "");
  return "r" + n + " + along" + n + "(a, at" + further + ")";
}

/// The k-th of a vector's elements, read alone.
std::string CudaReducingEmitter::neighbour(int i) const {
  return counts_in_vectors(i) ? "(" + address(i, false) + ").among<" + number(layout_.vector) + ">(k)" : "*(" + address(i, true) + ")";
}

/// Of columns: how far the element at a place of the thread's first one lies from where the column begins; of an array that is taken in the slice of its own position.
std::string CudaReducingEmitter::element_offset(int i, const std::string& at) const {
  const std::string n = number(i), along = "along" + n + "(a, " + at + ")";
  return layout_.is_taken(i) ? "(" + along + " + a.positions" + n + "[of" + n + " + by" + n + "(a, " + at + ")] * a.apart" + n + ")" : along;
}

/// b0, b1, ...: where the thread's first vector, at `at`, lies in these arrays.
void CudaReducingEmitter::emit_bases(const std::vector<int>& parameters, const std::string& at) {
  for (int i : parameters) {
    if (is_unit(i)) line("      " + pointer_type(i) + "b" + number(i) + " = r" + number(i) + (backward_ ? " + ((place(a.length) - 1) - (" + at + "));" : " + " + at + ";"));
  }
}

/// A vector in the order of the scan: of one that goes backward the last element in memory is the first.
std::string CudaReducingEmitter::read_vector(int i) const {
  if (is_shared(i)) return read_held(i, in_shared(i));
  const bool is_same = access(i) == Access::kEveryRow;
  std::string how = is_same || is_in_run(i) ? "load_again<" : "load<";
  if (is_same && is_in_words(i)) how = "load_words<";
  const std::string load = how + number(layout_.vector) + ">(" + address(i, false);
  return turns() ? "turned(" + load + " - " + number(layout_.vector - 1) + "))" : load + ")";
}

/// Whether elements of rows of several axes are read one by one. Vectors are whole there: none goes beyond the innermost axis (vector_of).
bool CudaReducingEmitter::is_looked_up_once(int i) const { return rows() && layout_.vector > 1 && layout_.reduced_rank > 1 && access(i) == Access::kStrided && !backward_; }

/// The vector at `at` into x[u], read as a whole or by element.
void CudaReducingEmitter::emit_load(int i) {
  const std::string n = number(i), x = "x" + n + "[u]", width = number(layout_.vector);
  const std::string vector = x + " = " + read_vector(i) + ";";
  const bool anywhere = rows() && layout_.ends == Ends::kAnywhere && moves(i);
  const std::string elements = "#pragma unroll\n        for (int k = 0; k < " + width + "; ++k) " + (anywhere && !is_full_ ? "if (" + inside("at + k >= begin", "at + k < end") + ") " : "") + x + ".e[k] = " + neighbour(i) + ";";
  if (is_steady(i)) {
    line("        " + x + " = *(" + address(i, false) + ");");
  } else if (!is_together(i) && !anywhere && is_looked_up_once(i)) {
    // A vector's elements are neighbours along the innermost axis, so its place is looked for once.
    const std::string q = "q" + n, s = "s" + n;
    line("        const place " + q + " = along" + n + "(a, at), " + s + " = place(a.r" + n + "[" + number(layout_.reduced_rank - 1) + "]);");
    line("#pragma unroll\n        for (int k = 0; k < " + width + "; ++k) " + x + ".e[k] = *(r" + n + " + (" + q + " + k * " + s + "));");
  } else if (!is_together(i)) line(elements);
  else if (anywhere) line("        if (whole" + n + (is_full_ ? "" : " && " + inside("at >= begin", "at + " + width + " <= end")) + ") " + vector + " else {\n" + elements + "\n        }");
  else line("        " + vector);
}

/// A loop over a thread's vectors u at `at`, those of the row alone. Of columns of 16-bit floats what would be beyond the last row is that row again, which is not joined: behind a branch they would be
/// taken out of their words, and so waited for, before the next vector is asked for.
void CudaReducingEmitter::emit_loads(const std::vector<int>& inputs, const std::string& at) {
  if (inputs.empty()) return;
  // Those of which a vector has one element come last: to find it takes longer than to ask for a vector.
  std::vector<int> vectors, steady;
  for (int i : inputs) (is_steady(i) ? steady : vectors).push_back(i);
  if (!vectors.empty() && !steady.empty()) {
    emit_loads(vectors, at);
    emit_loads(steady, at);
    return;
  }
  const auto loop = [&](const auto& load) {
    const bool guarded = is_guarded(), is_short = std::any_of(inputs.begin(), inputs.end(), [this](int i) { return spec_.element_bytes(i) < 4; });
    const bool clamped = guarded && is_short && !rows() && !layout_.whole;
    line("#pragma unroll\n      for (int u = 0; u < " + number(layout_.items) + "; ++u) {\n        const place " + (clamped ? "own_at = " + at + ", at = own_at < end ? own_at : end - 1;" : "at = " + at + ";"));
    if (guarded && !clamped) line("        if (!(" + inside("", "at < end") + ")) continue;");
    for (int i : inputs) load(i);
    line("      }");
  };
  std::string inner;
  const bool is_wanted = layout_.whole || layout_.lanes <= 32 || std::any_of(inputs.begin(), inputs.end(), [this](int i) { return spec_.element_bytes(i) < 4; });  // of longer rows of whole words two vectors are nothing
  for (int i : inputs) {
    if (is_wanted && reaches(i) && !is_full_) inner += (inner.empty() ? "inner" : " && inner") + number(i);
  }
  if (inner.empty()) {
    loop([this](int i) { emit_load(i); });
    return;
  }
  line("      if (" + inner + ") {");
  loop([this](int i) { reaches(i) ? line("        x" + number(i) + "[u] = " + read_vector(i) + ";") : emit_load(i); });
  line("      } else {");
  loop([this](int i) { emit_load(i); });
  line("      }");
}

void CudaReducingEmitter::declare_vectors(const std::vector<int>& inputs) {
  for (int i : inputs) line("      " + (is_steady(i) ? stored(i) : "Vec<" + stored(i) + ", " + number(layout_.vector) + ">") + " x" + number(i) + "[" + number(layout_.items) + "];");
}
}  // namespace damo
