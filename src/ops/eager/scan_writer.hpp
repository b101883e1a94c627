// ScanWriter: what the texts of a scan for a GPU and for the CPU share.
#pragma once
#include <string>

#include "ops/eager/scan_text.hpp"
#include "ops/eager/snippet.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

std::string gpu_scan_text(const ScanDefinition& definition, const ScanLayout& layout);
std::string cpu_scan_text(const ScanDefinition& definition, const ScanLayout& layout);

class ScanWriter {
 protected:
  ScanWriter(const ScanDefinition& definition, const ScanLayout& layout) : d_(definition), l_(layout) {}

  void head();
  void function(const std::string& signature, const SourceText& expression);
  /// Declares x and y: where the line of that number begins; over the first `axes` kept axes.
  void line_start(const std::string& indent, const std::string& number, int axes);
  /// Turns the totals of a line's chunks, which lie at first and at `place` of k, into what goes before each.
  void carry_loop(const std::string& first, const std::string& place);

  bool generated() const { return d_.kind == SourceKind::kGenerated; }
  void line(const std::string& text) { text_ += text + "\n"; }
  std::string range() const {
    return "  const damo_long begin = chunk * a.chunk, end = begin + a.chunk < a.length ? begin + a.chunk : a.length;";
  }
  /// " * stride" along the scanned axis in rows.
  std::string step(const char* array) const {
    return l_.form == ReductionForm::kRows && l_.unit ? "" : std::string(" * a.r_") + array;
  }

  const ScanDefinition& d_;
  const ScanLayout& l_;
  std::string text_;
};

}  // namespace damo
