// How a generated kernel moves arrays that lie interleaved (kernel/interleaved.hpp): a thread's neighbours of all of them as one piece of memory, in accesses of up to 16 bytes.
// See tests/function/interleaved_test.cpp.
#include "runtime/cuda/emitter.hpp"
#include "runtime/kernel/body.hpp"

#include <algorithm>

namespace damo {

const Interleaved* CudaEmitter::piece_of(int parameter) const {
  if (!layout_.aligned || access(parameter) != Access::kInterleaved) return nullptr;
  for (const Interleaved& piece : pieces_) {
    if (std::find(piece.parameters.begin(), piece.parameters.end(), parameter) != piece.parameters.end()) return &piece;
  }
  return nullptr;
}

/// Where each piece begins, and which of its elements is each array's first: known at the launch alone.
void CudaEmitter::emit_pieces() {
  if (!layout_.aligned || pieces_.empty()) return;
  for (const Interleaved& piece : pieces_) {
    const int first = piece.parameters[0];
    std::string lowest = pointer(first);
    for (int k = 1; k < piece.count(); ++k) lowest = "lower(" + pointer(piece.parameters[static_cast<std::size_t>(k)]) + ", " + lowest + ")";
    line("  " + std::string(spec_.is_output(first) ? "" : "const ") + stored(first) + "* const piece" + number(first) + " = " + lowest + ";");
    for (int i : piece.parameters) line("  const u32 place" + number(i) + " = u32(" + pointer(i) + " - piece" + number(first) + ");");
  }
}

std::string CudaEmitter::piece_address(const Interleaved& piece, int access_number) const {
  const int first = piece.parameters[0], elements = piece.access_bytes(schedule_.vector) / piece.item_bytes;
  return "piece" + number(first) + " + (" + offset(first, true) + ")" + (access_number > 0 ? " + " + number(access_number * elements) : "");
}

/// Element k * count + place of a piece, k being the place in the vector.
std::string CudaEmitter::piece_element(const Interleaved& piece, int place) const {
  const std::string elements = number(piece.access_bytes(schedule_.vector) / piece.item_bytes), at = "(k * " + number(piece.count()) + " + " + number(place) + ")";
  return "all[" + at + " / " + elements + "].e[" + at + " % " + elements + "]";
}

void CudaEmitter::emit_piece_load(const Interleaved& piece) {
  const int accesses = piece.accesses(schedule_.vector);
  const std::string elements = number(piece.access_bytes(schedule_.vector) / piece.item_bytes);
  line("      {");
  line("        Vec<" + stored(piece.parameters[0]) + ", " + elements + "> all[" + number(accesses) + "];");
  // Neighbouring threads share lines of several accesses, which the first-level cache then has.
  for (int p = 0; p < accesses; ++p) line("        all[" + number(p) + "] = " + (accesses > 1 ? "load_again<" : "load<") + elements + ">(" + piece_address(piece, p) + ");");
  line("#pragma unroll");
  line("        for (int k = 0; k < " + number(schedule_.vector) + "; ++k) {");
  for (int i : piece.parameters) {
    std::string chosen = piece_element(piece, piece.count() - 1);
    for (int place = piece.count() - 2; place >= 0; --place) chosen = "place" + number(i) + " == " + number(place) + " ? " + piece_element(piece, place) + " : " + chosen;
    line("          x" + number(i) + "[u].e[k] = " + chosen + ";");
  }
  line("        }");
  line("      }");
}

void CudaEmitter::emit_piece_store(const Interleaved& piece) {
  const int accesses = piece.accesses(schedule_.vector);
  const std::string elements = number(piece.access_bytes(schedule_.vector) / piece.item_bytes);
  line("      {");
  line("        Vec<" + stored(piece.parameters[0]) + ", " + elements + "> all[" + number(accesses) + "];");
  line("#pragma unroll");
  line("        for (int k = 0; k < " + number(schedule_.vector) + "; ++k) {");
  for (int place = 0; place < piece.count(); ++place) {
    std::string chosen = "y" + number(piece.parameters.back()) + "[u].e[k]";
    for (int k = piece.count() - 2; k >= 0; --k) {
      const std::string i = number(piece.parameters[static_cast<std::size_t>(k)]);
      chosen = "place" + i + " == " + number(place) + " ? y" + i + "[u].e[k] : " + chosen;
    }
    line("          " + piece_element(piece, place) + " = " + chosen + ";");
  }
  line("        }");
  for (int p = 0; p < accesses; ++p) line("        store<" + elements + ">(" + piece_address(piece, p) + ", all[" + number(p) + "]);");
  for (int i : piece.parameters) {
    if (const std::string text = look(i, "y" + number(i) + "[u]"); !text.empty()) line("       " + text);
  }
  line("      }");
}

}  // namespace damo
