// The text of one generated CUDA kernel; see dialect.hpp for the schedules.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/guard_text.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/kernel/body_parts.hpp"
#include "runtime/kernel/interleaved.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

class CudaEmitter {
 public:
  CudaEmitter(const KernelSpec& spec, const Layout& layout);
  std::string emit();

 private:
  std::vector<bool> arrays_as_floats() const;
  void emit_scalars(const std::string& indent);
  void emit_block_schedule();     // flat and coordinates
  void emit_turns();              // in turns: loop_emitter.cpp
  void emit_turn(const std::string& indent, const std::string& turn, const std::string& row);
  bool spreads() const;  // elements of arrays that are not moved in vectors
  void emit_parts();
  void emit_loads();
  void emit_stores();
  const Interleaved* piece_of(int parameter) const;  // what lies interleaved: interleaved_emitter.cpp
  void emit_pieces();
  void emit_piece_load(const Interleaved& piece);
  void emit_piece_store(const Interleaved& piece);
  std::string piece_address(const Interleaved& piece, int access_number) const;
  std::string piece_element(const Interleaved& piece, int place) const;
  void emit_coordinates(const std::string& indent, const std::string& position);
  void emit_tile_position();  // of tiles: tile_emitter.cpp
  void emit_tile_schedule();
  int square_edge() const { return layout_.aligned ? layout_.vector : 1; }  // of what a thread of a tile turns at a time
  void emit_flat_tile();  // of few places along one axis: flat_emitter.cpp
  void emit_flat_reads();
  void emit_flat_run();
  void emit_flat_element();
  void emit_flat_rare();
  bool emit_flat_body();
  std::string flat_vectors(int parameter) const;
  std::string flat_element(int parameter) const;
  std::vector<bool> flat_steady() const;
  std::string flat_division(int value, const std::vector<bool>& steady) const;
  std::string offset(int parameter, bool with_last) const;
  void emit_frames(const std::string& indent);  // arrays amid a frame: framed_emitter.cpp
  bool is_framed_along(int parameter, int axis) const;
  std::string inside(int parameter) const;
  std::string framed(int parameter, const std::string& load) const;
  std::string slice(int parameter) const;
  std::string element(int parameter) const;
  std::string vector_load(int parameter) const;
  std::string vector_store(int parameter) const;

  Access access(int parameter) const { return layout_.access[static_cast<std::size_t>(parameter)]; }
  bool is_scalar_input(int i) const { return is_scalar(access(i)) && !spec_.is_output(i); }
  /// Ordinals that follow from the place in the iteration. The compiler then sees that those of a vector are neighbours, and computes once what they share.
  bool is_counted(int i) const { return spec_.is_ordinals(i) && access(i) == Access::kDense; }
  /// The number of the block among those of its launch, or of its member.
  std::string block() const { return layout_.joined ? "block" : "blockIdx.x"; }
  bool has_strided_outputs() const;
  /// From the reading of a vector to its writing: divisions of three axes or more take longer than a register each; of two axes there is one.
  bool keeps_coordinates() const { return layout_.rank > 2 && has_strided_outputs(); }
  std::string pointer(int i) const { return "a.p" + std::to_string(i); }
  /// Looks at what output i stores, if it is guarded.
  std::string look(int i, const std::string& stored) const { return cuda_look(spec_, i - spec_.input_count(), stored); }
  /// Whether a thread holds the array's 16-bit floats as floats, from vector to vector. Where a vector may be moved as a whole or element by element it would else hold each in a word of its own, put there and taken out again.
  bool is_widened(int i) const { return widened_[static_cast<std::size_t>(i)]; }
  std::string held(int i) const { return is_widened(i) ? "float" : stored(i); }
  std::string stored(int i) const;
  std::string loaded(int i) const;
  void line(const std::string& text) { text_ += text + "\n"; }

  const KernelSpec& spec_;
  const Layout& layout_;
  CudaSchedule schedule_;
  CudaTile tile_;
  std::vector<Interleaved> pieces_;
  std::vector<bool> widened_;       // of each parameter
  std::optional<BodyParts> parts_;  // of the body, where the schedule wants them
  bool divides_known_ = false;      // of a flat tile: it has known_body
  std::string refuse_;              // a call of what known_body does not ask for each element; empty: there is nothing
  std::string text_;
};

}  // namespace damo
