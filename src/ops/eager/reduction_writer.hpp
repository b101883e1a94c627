// ReductionWriter: what the texts of a reduction for a GPU and for the CPU share: the arguments, the user's expressions
// as functions, and where elements lie.
#pragma once
#include <string>
#include <vector>

#include "ops/eager/reduction_text.hpp"
#include "ops/eager/snippet.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

std::string gpu_reduction_text(const ReductionDefinition& definition, const ReductionLayout& layout);
std::string cpu_reduction_text(const ReductionDefinition& definition, const ReductionLayout& layout);

class ReductionWriter {
 protected:
  ReductionWriter(const ReductionDefinition& definition, const ReductionLayout& layout) : d_(definition), l_(layout) {
    for (const RawParameter& parameter : d_.parameters) {
      if (parameter.is_pointer) arrays_.push_back(&parameter);
      if (parameter.name == "r") place_ = "damo_place";
    }
  }

  void write_common() {
    head();
    arguments();
    functions();
  }
  static std::string number(int value) { return std::to_string(value); }
  bool plain(std::size_t array) const { return l_.plain[array]; }
  void line(const std::string& text) { text_ += text + "\n"; }

  void head();
  void arguments();
  void function(const std::string& signature, const std::string& type, const SourceText& expression);
  void functions();

  /// Declares o_x for each array: where the output numbered `output` begins; over the first `axes` kept axes.
  void kept_offsets(const std::string& indent, const std::string& output, int axes);
  /// Declares d_x: how far `place` lies from there; over the first `axes` reduced axes.
  void reduced_offsets(const std::string& indent, const std::string& place, int axes);

  /// Array a's, or the index's for a past the last.
  std::string offset_name(std::size_t a) const { return a == arrays_.size() ? "index" : arrays_[a]->name; }
  bool has_offsets(std::size_t a) const { return a == arrays_.size() ? l_.with_index : !plain(a); }
  template <class Do>
  void each_offset(Do act) {
    for (std::size_t a = 0; a <= arrays_.size(); ++a) {
      if (has_offsets(a)) act(a, offset_name(a));
    }
  }

  /// The map at offsets o_x + extra, where extra gives the text to add for each array; r: the place.
  template <class Extra>
  std::string map_call(Extra extra, const std::string& place) {
    std::string call = "damo_map(";
    std::size_t array = 0;
    for (const RawParameter& parameter : d_.parameters) {
      if (!parameter.is_pointer || plain(array)) {
        call += "a.p_" + parameter.name + ", ";
      } else {
        const std::string type = c_type(parameter.dtype);
        call += "damo_element<const " + type + ">{a.p_" + parameter.name + " + (o_" + parameter.name +
                extra(array, parameter.name) + ")}, ";
      }
      if (parameter.is_pointer) ++array;
    }
    return call + (l_.with_index ? "o_index" + extra(arrays_.size(), "index") : "0") + ", " + place + ")";
  }

  /// "place * stride" along the innermost reduced axis.
  std::string reduced_step(std::size_t a, const std::string& name, const std::string& place) const {
    if (l_.reduced_rank == 0) return "";
    const bool unit = l_.form == ReductionForm::kRows && l_.unit[a];
    return " + damo_long(" + place + ")" + (unit ? "" : " * a.r_" + name + "[" + number(l_.reduced_rank - 1) + "]");
  }
  std::string column_step(std::size_t a, const std::string& name, const std::string& column) const {
    return " + (" + column + ")" + (l_.unit[a] ? "" : " * a.k_" + name + "[" + number(l_.kept_rank - 1) + "]");
  }

  /// Neighbouring threads of finish read neighbours.
  std::string partial(const std::string& chunk) const {
    return l_.gpu && l_.form == ReductionForm::kColumns ? chunk + " * a.outputs + output"
                                                        : "output * a.chunks + " + chunk;
  }

  const ReductionDefinition& d_;
  const ReductionLayout& l_;
  std::vector<const RawParameter*> arrays_;
  std::string place_ = "r";
  std::string text_;
};

}  // namespace damo
