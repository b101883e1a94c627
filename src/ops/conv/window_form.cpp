#include "ops/conv/window_form.hpp"

#include <algorithm>
#include <limits>

#include <damo/error.hpp>

namespace damo {
namespace {

std::string elements(std::int64_t count) { return std::to_string(count) + (count == 1 ? " element" : " elements"); }

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

}  // namespace

Extents3 numbers_of(const std::string& name, const char* what, const PerAxis& given, int axes, std::int64_t least, std::int64_t neutral) {
  const std::vector<std::int64_t>& numbers = given.numbers();
  if (numbers.size() != 1 && numbers.size() != static_cast<std::size_t>(axes)) {
    throw ShapeError(name + ": " + what + " has " + std::to_string(numbers.size()) + " numbers", "give one, or " + std::to_string(axes));
  }
  Extents3 all{neutral, neutral, neutral};
  for (int i = 0; i < axes; ++i) {
    const std::int64_t number = numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    if (number < least) throw ShapeError(name + ": " + what + " is " + std::to_string(number), "give " + std::to_string(least) + " or more");
    if (number > std::numeric_limits<std::int32_t>::max()) throw ShapeError(name + ": " + what + " is " + std::to_string(number), "give less than 2^31");
    all[static_cast<std::size_t>(i)] = number;
  }
  return all;
}

WindowForm WindowForm::of(std::string name, int axes, const ConvOptions& options) {
  WindowForm form{.name = std::move(name), .axes = axes};
  form.stride = numbers_of(form.name, "stride", options.stride, axes, 1, 1);
  form.dilation = numbers_of(form.name, "dilation", options.dilation, axes, 1, 1);
  form.padding = numbers_of(form.name, "padding", options.padding.width(), axes, 0, 0);
  form.is_same = options.padding.is_same();
  form.groups = options.groups;
  if (form.groups < 1) throw ShapeError(form.name + ": " + std::to_string(form.groups) + " groups", "give 1 or more");
  return form;
}

WindowForm WindowForm::of(std::string name, int axes, const ConvTransposeOptions& options) {
  WindowForm form = of(std::move(name), axes, ConvOptions{options.stride, options.padding, options.dilation, options.groups});
  form.output_padding = numbers_of(form.name, "output_padding", options.output_padding, axes, 0, 0);
  for (int i = 0; i < axes; ++i) {
    if (form.output_padding[at(i)] >= form.stride[at(i)]) {
      throw ShapeError(form.name + ": output_padding is " + std::to_string(form.output_padding[at(i)]) + " where the stride is " + std::to_string(form.stride[at(i)]), "give less than the stride");
    }
  }
  return form;
}

WindowForm WindowForm::of(std::string name, int axes, const PerAxis& window, const PerAxis& stride, const PerAxis& padding, Extents3& kernel) {
  kernel = numbers_of(name, "window", window, axes, 1, 1);
  WindowForm form = of(std::move(name), axes, ConvOptions{stride.numbers().empty() ? window : stride, padding, 1, 1});
  for (int i = 0; i < axes; ++i) {
    if (2 * form.padding[at(i)] > kernel[at(i)]) {
      throw ShapeError(form.name + ": padding is " + std::to_string(form.padding[at(i)]) + " where the window is " + std::to_string(kernel[at(i)]),
                       "give at most half of the window, so that none lies beside x");
    }
  }
  return form;
}

std::int64_t WindowForm::windows(int axis, std::int64_t extent, std::int64_t kernel) const {
  if (extent == kUnknown || (kernel == kUnknown && !is_same)) return kUnknown;
  if (is_same) return (extent + stride[at(axis)] - 1) / stride[at(axis)];
  if (kernel == 0) throw ShapeError(name + ": the window has no elements along axis " + std::to_string(axis + 2), "give it 1 or more");
  const std::int64_t padded = extent + 2 * padding[at(axis)], reach = dilation[at(axis)] * (kernel - 1) + 1;
  if (reach > padded) {
    throw ShapeError(name + ": a window that reaches over " + elements(reach) + " does not fit into axis " + std::to_string(axis + 2) + ", which has " + std::to_string(padded) +
                         (padding[at(axis)] > 0 ? " with its padding" : ""),
                     "give a smaller window or dilation, or more padding");
  }
  return (padded - reach) / stride[at(axis)] + 1;
}

std::int64_t WindowForm::transposed(int axis, std::int64_t windows, std::int64_t kernel) const {
  if (windows == kUnknown || kernel == kUnknown) return kUnknown;
  const std::int64_t extent = (windows - 1) * stride[at(axis)] - 2 * padding[at(axis)] + dilation[at(axis)] * (kernel - 1) + 1 + output_padding[at(axis)];
  if (windows < 1 || kernel < 1 || extent < 1) {
    throw ShapeError(name + ": axis " + std::to_string(axis + 2) + " of the result would have " + elements(std::max<std::int64_t>(extent, 0)) + ": of " + elements(windows) + " and a window of " +
                         std::to_string(kernel) + ", with padding " + std::to_string(padding[at(axis)]),
                     "give less padding");
  }
  return extent;
}

std::int64_t WindowForm::before(int axis, std::int64_t extent, std::int64_t kernel, std::int64_t windows) const {
  if (!is_same) return padding[at(axis)];
  return std::max<std::int64_t>((windows - 1) * stride[at(axis)] + dilation[at(axis)] * (kernel - 1) + 1 - extent, 0) / 2;
}

Props WindowForm::props() const {
  const auto list = [&](const Extents3& all) { return std::vector<std::int64_t>(all.begin(), all.begin() + axes); };
  const auto differs = [&](const Extents3& all, std::int64_t neutral) { return std::any_of(all.begin(), all.end(), [&](std::int64_t number) { return number != neutral; }); };
  Props props{{"axes", std::int64_t{axes}}};
  if (differs(stride, 1)) props.push_back({"stride", list(stride)});
  if (is_same) props.push_back({"padding", std::string("same")});
  else if (differs(padding, 0)) props.push_back({"padding", list(padding)});
  if (differs(dilation, 1)) props.push_back({"dilation", list(dilation)});
  if (groups != 1) props.push_back({"groups", groups});
  if (differs(output_padding, 0)) props.push_back({"output_padding", list(output_padding)});
  return props;
}

void WindowForm::require_filters(const Shape& w) const {
  if (w[0] != kUnknown && w[0] % groups != 0) {
    throw ShapeError(name + ": " + std::to_string(groups) + " groups do not divide " + std::to_string(w[0]) + " filters of w", "give each group as many filters");
  }
  for (int i = 2; i < w.rank(); ++i) {
    if (w[i] == 0) throw ShapeError(name + ": the window has no elements along axis " + std::to_string(i), "give it 1 or more");
  }
}

Shape WindowForm::convolved(const Shape& x, const Shape& w) const {
  require_filters(w);
  if (x[1] != kUnknown && x[1] % groups != 0) {
    throw ShapeError(name + ": " + std::to_string(groups) + " groups do not divide " + std::to_string(x[1]) + " channels of x", "give each group as many channels");
  }
  if (x[1] != kUnknown && w[1] != kUnknown && x[1] != w[1] * groups) {
    throw ShapeError(name + ": x has " + std::to_string(x[1]) + (x[1] == 1 ? " channel" : " channels") + ", w is for " + std::to_string(w[1] * groups),
                     "w has the axes (filters, channels" + std::string(groups > 1 ? " / groups" : "") + ", window...)");
  }
  Shape y{x[0], w[0]};
  for (int i = 0; i < axes; ++i) y.push_back(windows(i, x[i + 2], w[i + 2]));
  return y;
}

Shape WindowForm::transposed(const Shape& y, const Shape& w) const {
  require_filters(w);
  if (y[1] != kUnknown && w[0] != kUnknown && y[1] != w[0]) {
    throw ShapeError(name + ": x has " + std::to_string(y[1]) + (y[1] == 1 ? " channel" : " channels") + ", w is for " + std::to_string(w[0]), "w has the axes (channels of x, channels of the result / groups, window...)");
  }
  Shape x{y[0], w[1] == kUnknown ? kUnknown : w[1] * groups};
  for (int i = 0; i < axes; ++i) x.push_back(transposed(i, y[i + 2], w[i + 2]));
  return x;
}

Convolution WindowForm::convolution(ConvolutionRole role, DType dtype, const Shape& x, const Shape& w, const Shape& y) const {
  Convolution c{.role = role, .dtype = dtype, .batch = x[0], .groups = groups, .channels = w[1], .outputs = w[0] / groups};
  for (int i = 0; i < axes; ++i) {
    const std::size_t to = at(3 - axes + i);
    c.in[to] = x[i + 2];
    c.kernel[to] = w[i + 2];
    c.out[to] = y[i + 2];
    c.stride[to] = stride[at(i)];
    c.dilation[to] = dilation[at(i)];
    c.padding[to] = before(i, x[i + 2], w[i + 2], y[i + 2]);
  }
  return c;
}

Shape WindowForm::pooled(const Shape& x, const Extents3& kernel) const {
  Shape y{x[0], x[1]};
  for (int i = 0; i < axes; ++i) y.push_back(windows(i, x[i + 2], kernel[at(i)]));
  return y;
}

Convolution WindowForm::pooling(DType dtype, const Shape& x, const Extents3& kernel, const Shape& y) const {
  WindowForm each = *this;
  each.groups = x[1];
  Shape w{x[1], 1};
  for (int i = 0; i < axes; ++i) w.push_back(kernel[at(i)]);
  return each.convolution(ConvolutionRole::kForward, dtype, x, w, y);
}

}  // namespace damo
