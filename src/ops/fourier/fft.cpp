#include <damo/ops/fft.hpp>

#include <memory>
#include <numeric>

#include <damo/op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/fourier/fourier_steps.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

/// Inputs: x, and where a gradient becomes real, what it is the gradient of, for its shape.
class FourierOp final : public Op {
 public:
  FourierOp(std::string user, const FourierForm& form) : user_(std::move(user)), form_(form) {}
  std::string name() const override { return form_.kind == FourierKind::kComplex ? (form_.inverse ? "ifft" : "fft") : form_.kind == FourierKind::kRealToComplex ? "rfft" : "irfft"; }
  Props props() const override {
    return {{"for", user_}, {"axes", std::int64_t{form_.rank}}, {"extent", form_.extent}, {"reversed", form_.reversed}, {"kind", std::int64_t{static_cast<int>(form_.kind)}}, {"inverse", form_.inverse}};
  }
  Apply make_node(Inputs inputs) const override {
    std::vector<Variable> all(inputs.begin(), inputs.end());
    all.at(0) = contiguous(inputs.at(0));
    const Shape shape = all.size() > 1 ? all[1].dims() : form_.shape(user_, all[0].dims());
    return {*this, std::move(all), {{inputs.at(0).dtype(), shape}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs.size() > 1 ? inputs[1] : form_.shape(user_, inputs[0])}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell& x = context.storage(node.input(0));
    Cell& out = context.storage(node.output());
    std::shared_ptr<const HalfSpectrum> half;
    if (weighs(form_)) half = std::make_shared<const HalfSpectrum>([&](std::string_view source, std::string_view name) { return context.compile(source, name); }, x.dtype());
    context.foresee_memory([&x, &out, form = form_, device = context.device()] { return ThunkMemory{.workspace = transform_bytes(device.backend(), form, x.dtype(), x.shape(), out.shape())}; });
    return [&x, &out, half, form = form_] { transform(form, half.get(), x.array(), out.array()); };
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    const SourceLine line = node.where();
    FourierForm form = form_;
    Variable g = output_gradients[0];
    if (form.kind == FourierKind::kComplex) {
      form.inverse = !form.inverse;
      return applied(form, {g}, line);
    }
    form.reversed = !form.reversed;
    if (form.kind == FourierKind::kComplexToReal) {
      form.kind = FourierKind::kRealToComplex;
      Gradients gradients(node.inputs().size(), Gradient::disconnected());
      gradients[0] = applied(form, {g}, line);
      return gradients;
    }
    form.kind = FourierKind::kComplexToReal;
    if (form.rank > 1) {  // the other axes first, which have to be the last before the pairs
      std::vector<int> there(static_cast<std::size_t>(g.rank()));
      std::iota(there.begin(), there.end(), 0);
      const auto first = there.end() - 1 - form.rank;
      std::rotate(first, there.end() - 2, there.end() - 1);
      std::vector<int> back(there.size());
      for (std::size_t i = 0; i < there.size(); ++i) back[static_cast<std::size_t>(there[i])] = static_cast<int>(i);
      g = dimshuffle(At(line)(applied({.inverse = true, .rank = form.rank - 1}, {dimshuffle(At(line)(g), there)}, line)), back);
      form.rank = 1;
    }
    return applied(form, {g, node.input(0)}, line);
  }

 private:
  Variable applied(const FourierForm& form, const std::vector<Variable>& inputs, SourceLine line) const { return std::make_shared<const FourierOp>(user_, form)->apply(inputs, line).output(); }
  std::string user_;
  FourierForm form_;
};

struct FourierVariables {
  using Value = Variable;
  SourceLine line;

  int rank(const Variable& v) const { return v.rank(); }
  DType dtype_of(const Variable& v) const { return v.dtype(); }
  Variable cast(const Variable& v, DType dtype) const { return cast_at(v, dtype, line); }
  Variable view(const Variable& v, const std::vector<int>& pattern) const { return dimshuffle(At(line)(v), pattern); }
  Variable apply(const std::string& user, const FourierForm& form, const Variable& v) const { return std::make_shared<const FourierOp>(user, form)->apply(std::span(&v, 1), line).output(); }
  Variable divided(const Variable& v, const Variable& counted, std::uint32_t axes, bool root) const {
    Variable count = count_of(counted, axes, line);
    if (count.rank() > 0 && counted.rank() < v.rank()) count = expand_dims(At(line)(count), -1);
    return root ? mul(At(line)(v), At(line)(rsqrt(At(line)(count)))) : true_div(At(line)(v), At(line)(count));
  }
};

Variable tensor_of_numbers(const Operand& x) { return x.as(x.promotable().dtype); }
/// act(steps, x), whose errors tell what was called.
template <class Act>
Variable transformed(const char* user, const Operand& x, FftNorm norm, const Act& act) {
  return asked(user, [&] { return act(FourierSteps<FourierVariables>({x.where()}, user, norm), tensor_of_numbers(x)); }, x);
}

}  // namespace

Variable rfft(const Operand& x, int axis, FftNorm norm) { return transformed("rfft", x, norm, [&](const auto& steps, const Variable& v) { return steps.from_real(v, axis); }); }
Variable irfft(const Operand& x, std::optional<std::int64_t> extent, int axis, FftNorm norm) { return transformed("irfft", x, norm, [&](const auto& steps, const Variable& v) { return steps.to_real(v, extent, axis); }); }
Variable fft(const Operand& x, int axis, FftNorm norm) { return transformed("fft", x, norm, [&](const auto& steps, const Variable& v) { return steps.complex(v, axis, false); }); }
Variable ifft(const Operand& x, int axis, FftNorm norm) { return transformed("ifft", x, norm, [&](const auto& steps, const Variable& v) { return steps.complex(v, axis, true); }); }
Variable rfftn(const Operand& x, const Axes& axes, FftNorm norm) { return transformed("rfftn", x, norm, [&](const auto& steps, const Variable& v) { return steps.from_real(v, axes); }); }
Variable irfftn(const Operand& x, std::optional<std::int64_t> extent, const Axes& axes, FftNorm norm) { return transformed("irfftn", x, norm, [&](const auto& steps, const Variable& v) { return steps.to_real(v, extent, axes); }); }
Variable fftn(const Operand& x, const Axes& axes, FftNorm norm) { return transformed("fftn", x, norm, [&](const auto& steps, const Variable& v) { return steps.complex(v, axes, false); }); }
Variable ifftn(const Operand& x, const Axes& axes, FftNorm norm) { return transformed("ifftn", x, norm, [&](const auto& steps, const Variable& v) { return steps.complex(v, axes, true); }); }

}  // namespace damo
