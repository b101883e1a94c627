// The text of a scan's kernels, for a GPU and for the CPU. The axis that is scanned is cut into chunks; if there are
// several,
//   totals   joins the elements of each chunk,
//   carries  scans the totals of each line: what goes before each chunk,
// and then, always,
//   scan     goes through the chunks with what goes before them.
// So a long line is read twice and written once. Order is kept everywhere: the operation need not be commutative, and
// no neutral value is needed but for the first element of an exclusive scan.
//
//   GPU   kRows: a block goes through a chunk in tiles, which its threads load and store as neighbours and scan in
//   shared
//         memory. kColumns: a thread goes along a chunk, its neighbours along the next lines.
//   CPU   a block is one thread: one chunk of a line, or of kScanColumns neighbouring lines at once, which vectorises.
#pragma once
#include <string>
#include <vector>

#include "ops/eager/reduction_text.hpp"

namespace damo {

struct ScanDefinition {
  std::string name;
  SourceKind kind = SourceKind::kCudaC;
  SourceText preamble;
  DType dtype = float32;    ///< of input and output
  std::string accumulator;  ///< C type of a and b, at most eight bytes
  SourceText reduce;        ///< of a and b, the earlier one a; associative
  SourceText neutral;       ///< the first element of an exclusive scan
  bool exclusive = false;
  std::vector<std::string> flags;
};

struct ScanLayout {
  bool gpu = false;
  ReductionForm form = ReductionForm::kRows;
  int kept_rank = 0;
  bool wide = false;
  bool chunked = false;
  bool unit = false;  ///< neighbours along the form's inner axis are neighbours in memory, of input and output
};

inline constexpr int kScanBlock = 128;  ///< threads; of a GPU's block
inline constexpr int kScanItems = 8;    ///< elements of a thread in a tile
inline constexpr int kScanTile = kScanBlock * kScanItems;
inline constexpr int kScanColumns = 2048;  ///< lines that the CPU takes at once

/// The first kernel's name; the others' end in _totals and _carries.
inline std::string scan_kernel(const ScanDefinition& definition) { return "damo_scan_" + definition.name; }

std::string scan_text(const ScanDefinition& definition, const ScanLayout& layout);

}  // namespace damo
