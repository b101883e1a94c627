#include "runtime/kernel/argument_block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

struct Magic {
  std::uint32_t multiplier, shift;
};

/// n / d == (umulhi(n, multiplier) + n) >> shift for n < 2^31 (Granlund and Montgomery 1994, round-up form).
Magic magic_of(std::uint32_t d) {
  const std::uint32_t shift = d <= 1 ? 0 : static_cast<std::uint32_t>(32 - std::countl_zero(d - 1));
  const std::uint64_t multiplier = ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - d)) / std::max(d, 1u) + 1;
  return {static_cast<std::uint32_t>(multiplier), shift};
}

class Writer {
 public:
  Writer(bool wide, std::vector<std::byte> begun = {}) : bytes(std::move(begun)), wide_(wide) {}
  void index(std::int64_t value) {
    if (wide_) put(value);
    else put(static_cast<std::int32_t>(value));
  }
  template <class T>
  void put(T value) {
    align(sizeof(T));
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(T));
  }
  /// A number as value_type(dtype) holds it.
  void number(const Scalar& value) {
    const DType held = is_narrow(value.dtype()) ? float32 : value.dtype();
    std::uint64_t bits = 0;
    value.cast(held).store(&bits);
    align(itemsize(held));
    const auto* from = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), from, from + itemsize(held));
  }
  void align(std::size_t to) {
    while (bytes.size() % to != 0) bytes.push_back({});
  }
  std::vector<std::byte> bytes;

 private:
  bool wide_;
};

void put_magic(Writer& writer, const Shape& extents) {
  for (std::int64_t extent : extents) writer.put(magic_of(static_cast<std::uint32_t>(extent)).multiplier);
  for (std::int64_t extent : extents) writer.put(magic_of(static_cast<std::uint32_t>(extent)).shift);
}

std::string array_field(const std::string& type, const std::string& name, int rank) {
  return "  " + type + " " + name + "[" + std::to_string(rank) + "];\n";
}

}  // namespace

std::string number_struct(const KernelSpec& spec) {
  if (spec.numbers.empty()) return "";
  std::string text = "struct alignas(8) Numbers {\n";
  for (std::size_t i = 0; i < spec.numbers.size(); ++i) text += "  " + value_type(spec.numbers[i].dtype()) + " n" + std::to_string(i) + ";\n";
  return text + "};\n";
}

namespace {

/// An element of the array in the place of a pointer, read as p0[0].
std::string element_field(const KernelSpec& spec, const std::string& name, int parameter) {
  const std::size_t count = spec.is_table(parameter) ? 1 : 8 / itemsize(spec.parameter_dtype(parameter));
  return "  " + stored_type(spec, parameter) + " " + name + std::to_string(parameter) + "[" + std::to_string(count) + "];\n";
}

/// The pointers, or elements in their place.
std::string pointer_fields(const KernelSpec& spec, const Layout& layout) {
  std::string text;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const std::string type = storage_type(spec.parameter_dtype(i)), name = "p" + std::to_string(i);
    if (layout.access[static_cast<std::size_t>(i)] == Access::kValue) {
      text += element_field(spec, "p", i);
      continue;
    }
    text += spec.is_ordinals(i) ? "  Ordinals " + name + ";\n" : std::string("  ") + (spec.is_output(i) ? "" : "const ") + type + "* " + name + ";\n";
  }
  return text;
}

bool moves_along(Access access) { return !is_scalar(access) && access != Access::kRepeat; }

std::string reducing_fields(const KernelSpec& spec, const Layout& layout) {
  std::string text = "  i64 n, length, chunk, chunks, tile;\n" + std::string(layout.batched ? "  i64 joined;\n" : "");
  const auto extents = [&](const std::string& name, int rank) {
    return array_field("i64", name, rank) + (divides_by_magic(layout, rank) ? array_field("u32", name + "_magic", rank) + array_field("u32", name + "_shift", rank) : "");
  };
  text += extents("kept", layout.rank) + extents("reduced", layout.reduced_rank);
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const Access access = layout.access[static_cast<std::size_t>(i)];
    if (!is_scalar(access)) text += array_field("i64", "k" + std::to_string(i), layout.rank);
    if (layout.is_taken(i)) text += array_field("i64", "of" + std::to_string(i), layout.rank) + (layout.form == Form::kColumns ? array_field("i64", "by" + std::to_string(i), layout.reduced_rank) : "");
    if (moves_along(access)) text += array_field("i64", "r" + std::to_string(i), layout.reduced_rank);
  }
  return text;
}

std::string turn_fields(const KernelSpec& spec) {
  std::string text = "  i64 turns;\n";
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const std::string n = std::to_string(i);
    if (spec.moves_with_turns(i)) text += "  i64 t" + n + ";\n" + (spec.is_output(i) ? "  i64 b" + n + ";\n" : "");
  }
  return text;
}

/// Calls put(value) in the order of turn_fields.
template <class Put>
void put_turns(const KernelSpec& spec, const LoopRun& run, const Put& put) {
  put(run.turns);
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (!spec.moves_with_turns(i)) continue;
    put(run.strides[static_cast<std::size_t>(i)]);
    if (spec.is_output(i)) put(run.begins[static_cast<std::size_t>(i - spec.input_count())]);
  }
}

}  // namespace

std::string argument_struct(const KernelSpec& spec, const Layout& layout) {
  const std::string index = layout.wide ? "i64" : "u32", stride = layout.wide ? "i64" : "i32";
  const bool reduces = layout.form != Form::kElements;
  const std::string tables = spec.has_tables() ? std::string("typedef ") + (layout.wide ? "i64" : "i32") + " table_index;\n" : "";
  std::string text = tables + number_struct(spec) + "struct Arguments {\n" + pointer_fields(spec, layout) + (reduces ? "  void* scratch;\n" : "") + (spec.has_guards() ? "  u32* flag;\n" : "");
  for (int i : layout.taken) text += "  const i64* positions" + std::to_string(i) + ";\n  i64 apart" + std::to_string(i) + ";\n";
  for (const FramedArray& frame : layout.framed) text += element_field(spec, "frame", frame.array);
  if (!spec.numbers.empty()) text += "  Numbers numbers;\n";
  if (reduces) return text + reducing_fields(spec, layout) + "  u32 fast;\n};\n";
  if (spec.loop) text += turn_fields(spec);
  text += "  " + index + " n;\n";
  if (!layout.is_flat()) {
    text += array_field(index, "extent", layout.rank);
    if (!layout.wide || layout.places > 0) text += array_field("u32", "magic", layout.rank) + array_field("u32", "shift", layout.rank);
    if (layout.places > 0) text += "  u32 runs, runs_magic, runs_shift;\n";
    for (int i = 0; i < spec.parameter_count(); ++i) {
      if (has_strides(layout.access[static_cast<std::size_t>(i)])) text += array_field(stride, "s" + std::to_string(i), layout.rank);
      if (layout.is_taken(i)) text += array_field(stride, "of" + std::to_string(i), layout.rank);
      if (layout.frame_of(i)) text += array_field(index, "before" + std::to_string(i), layout.rank) + array_field(index, "inside" + std::to_string(i), layout.rank);
    }
  }
  return text + "  u32 fast;\n};\n";
}

std::string joined_structs() { return "struct Member {\n  Arguments a;\n  i64 begin;\n};\nstruct Joined {\n  const Member* members;\n  const u32* member_of;\n};\n"; }

void ArgumentBlock::set_numbers(std::span<const Scalar> numbers) {
  Writer writer(false, {bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(numbers_at_)});
  for (const Scalar& number : numbers) writer.number(number);
  std::copy(writer.bytes.begin() + static_cast<std::ptrdiff_t>(numbers_at_), writer.bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(numbers_at_));
}

void ArgumentBlock::set_run(const KernelSpec& spec, const LoopRun& run) {
  std::byte* at = bytes_.data() + turns_at_;
  put_turns(spec, run, [&](std::int64_t value) { at = static_cast<std::byte*>(std::memcpy(at, &value, sizeof value)) + sizeof value; });
}

bool ArgumentBlock::are_interleaved() {
  return std::all_of(interleaved_.begin(), interleaved_.end(), [&](const Piece& piece) {
    std::array<std::uintptr_t, kMostInterleaved> addresses{};
    for (std::size_t k = 0; k < piece.parameters.size(); ++k) addresses[k] = pointers()[slot_[static_cast<std::size_t>(piece.parameters[k])]];
    return lie_interleaved({addresses.data(), piece.parameters.size()}, piece.item_bytes, piece.access_bytes);
  });
}

ArgumentBlock::ArgumentBlock(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int vector_width, const Work& work) {
  const bool reduces = layout.form != Form::kElements;
  Writer writer(reduces || layout.wide);
  const int count = spec.parameter_count();
  const auto words = [&] { return writer.bytes.size() / sizeof(std::uint64_t); };
  for (int i = 0; i < count; ++i) {
    slot_.push_back(static_cast<std::uint32_t>(words()));
    writer.put(std::uint64_t{0});
    if (spec.is_table(i)) writer.put(std::int64_t{0});  // its size, of which a text with 32-bit indices reads the lower half
  }
  scratch_at_ = words();
  if (reduces) writer.put(std::uint64_t{0});
  guard_at_ = words();
  if (spec.has_guards()) writer.put(std::uint64_t{0});
  taken_ = layout.taken;
  taken_at_ = words();
  std::vector<const TakenAxes*> taken(static_cast<std::size_t>(count), nullptr);
  for (const TakenAxes& axes : geometry.taken) taken[static_cast<std::size_t>(axes.array)] = &axes;
  for (int i : taken_) {
    writer.put(std::uint64_t{0});
    writer.put(taken[static_cast<std::size_t>(i)]->apart);
  }
  for (const FramedAxes& frame : geometry.framed) writer.put(frame.bits);
  const auto put_frame = [&](int i) {
    for (const FramedAxes& frame : geometry.framed) {
      for (const Strides* each : {&frame.before, &frame.extents}) {
        for (int axis = 0; axis < each->rank() && frame.array == i; ++axis) writer.index((*each)[axis]);
      }
    }
  };
  const auto put_positions = [&](int i) {
    if (!layout.is_taken(i)) return;
    for (std::int64_t stride : taken[static_cast<std::size_t>(i)]->kept) writer.index(stride);
    if (layout.form != Form::kColumns) return;
    for (std::int64_t stride : taken[static_cast<std::size_t>(i)]->reduced) writer.index(stride);
  };
  numbers_at_ = writer.bytes.size();
  for (const Scalar& number : spec.numbers) writer.number(number);
  if (!spec.numbers.empty()) writer.align(8);
  values_end_ = writer.bytes.size();
  if (reduces) {
    for (std::int64_t value : {geometry.count, geometry.reduced.count, work.chunk, work.chunks, work.tile}) writer.index(value);
    if (layout.batched) writer.index(geometry.joined);
    for (const auto& extents : {geometry.extents, geometry.reduced.extents}) {
      for (std::int64_t extent : extents) writer.index(extent);
      if (divides_by_magic(layout, extents.rank())) put_magic(writer, extents);
    }
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (is_scalar(layout.access[at])) continue;
      for (std::int64_t stride : geometry.strides[at]) writer.index(stride);
      put_positions(i);
      if (!moves_along(layout.access[at])) continue;
      for (std::int64_t stride : geometry.reduced.strides[at]) writer.index(stride);
    }
  } else {
    turns_at_ = writer.bytes.size();  // a multiple of 8: pointers and numbers stand before
    if (spec.loop) {
      const LoopRun none{0, std::vector<std::int64_t>(static_cast<std::size_t>(count)), std::vector<std::int64_t>(spec.outputs.size())};
      put_turns(spec, none, [&](std::int64_t value) { writer.put(value); });
    }
    writer.index(geometry.count);
  }
  if (!reduces && !layout.is_flat()) {
    for (std::int64_t extent : geometry.extents) writer.index(extent);
    if (!layout.wide || layout.places > 0) {
      put_magic(writer, geometry.extents);
    }
    if (layout.places > 0) {
      const auto runs = static_cast<std::uint32_t>(work.chunks);
      for (std::uint32_t value : {runs, magic_of(runs).multiplier, magic_of(runs).shift}) writer.put(value);
    }
    for (int i = 0; i < count; ++i) {
      if (!has_strides(layout.access[static_cast<std::size_t>(i)])) continue;
      for (std::int64_t stride : geometry.strides[static_cast<std::size_t>(i)]) writer.index(stride);
      put_positions(i);
      put_frame(i);
    }
    can_be_fast_ = layout.places > 0 || geometry.extents[-1] % vector_width == 0;
  }
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Access access = layout.access[at];
    const bool moves_vectors = access == Access::kDense || access == Access::kRow || access == Access::kEveryRow || (layout.places > 0 && access == Access::kRepeat) || (layout.tile_axis >= 0 && layout.vector > 1 && access == Access::kTransposed);
    const std::size_t bytes = static_cast<std::size_t>(vector_width) * itemsize(spec.parameter_dtype(i));
    alignment_.push_back(moves_vectors ? (layout.places > 0 ? std::min<std::size_t>(bytes, 16) : bytes) - 1 : 0);
    for (const FramedAxes& frame : geometry.framed) {
      if (frame.array == i) can_be_fast_ &= frame.before[-1] % vector_width == 0 && frame.extents[-1] % vector_width == 0;
    }
    if (taken[at] && !reduces) can_be_fast_ &= taken[at]->apart % vector_width == 0;
    if (access != Access::kRow || reduces || layout.places > 0) continue;  // those that reduce are laid out for vectors, or not (Layout::vector)
    for (int axis = 0; axis + 1 < geometry.extents.rank(); ++axis) can_be_fast_ &= geometry.strides[at][axis] % vector_width == 0;
  }
  for (const Interleaved& piece : interleaved_of(spec, layout)) interleaved_.push_back({piece.parameters, piece.item_bytes, piece.access_bytes(vector_width)});
  writer.align(4);
  flag_at_ = writer.bytes.size();
  writer.put(std::uint32_t{0});
  writer.align(8);
  bytes_ = std::move(writer.bytes);
}

}  // namespace damo
