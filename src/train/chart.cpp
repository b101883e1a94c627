#include <damo/chart.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <damo/error.hpp>

#include "graph/print/label.hpp"
#include "io/atomic_file.hpp"

namespace damo {
namespace {

constexpr double kWidth = 640, kHeight = 400, kLeft = 70, kRight = 130, kTop = 40, kBottom = 50;
/// Okabe and Ito's colours, which everyone tells apart, and two more.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#882255", "#b5bd00"};

template <class... Numbers>
std::string print(const char* format, Numbers... numbers) {
  char text[256];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

constexpr double kGreatest = 1e300, kLeastApart = 1e-12;

/// One direction of the picture: values, or their logarithms, brought to places in it.
struct Axis {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  double from, to;
  bool is_log = false;

  double scaled(double value) const { return is_log ? std::log10(value) : value; }
  /// What lies beyond kGreatest is no more drawn than infinity, so that differences of what is drawn are finite.
  bool has(double value) const { return std::abs(value) <= kGreatest && (!is_log || value >= 1 / kGreatest); }
  void add(double value) {
    if (!has(value)) return;
    least = std::min(least, scaled(value));
    most = std::max(most, scaled(value));
  }
  void finish() {
    if (!(least <= most)) least = 0, most = 1;
    if (least == most) least -= 0.5, most += 0.5;
    // So far apart that doubles between them have places of their own, and round ones are apart from each other.
    const double apart = std::max(kLeastApart * std::max(std::abs(least), std::abs(most)), 1 / kGreatest);
    if (most - least < apart) least -= apart / 2, most += apart / 2;
  }
  double place(double value) const { return from + (scaled(value) - least) / (most - least) * (to - from); }
  /// Round numbers: 1, 2 or 5 times a power of ten apart, about five of them. On a logarithmic axis powers of ten, about ten at most, and 2 and 5 times them where it is short.
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (is_log) {
      const bool is_short = most - least < 3;
      const double every = std::max(std::ceil((most - least) / 10), 1.0);
      for (double power = std::floor(least / every) * every; power <= most; power += every) {
        for (const double lead : {1.0, 2.0, 5.0}) {
          const double place = power + std::log10(lead);
          if ((is_short || lead == 1) && place >= least - 1e-9 && place <= most + 1e-9) ticks.push_back(lead * std::pow(10, power));
        }
      }
      if (!ticks.empty()) return ticks;
    }
    const double low = is_log ? std::pow(10, least) : least, high = is_log ? std::pow(10, most) : most;
    const double raw = (high - low) / 5, power = std::pow(10, std::floor(std::log10(raw))), lead = raw / power;
    const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push_back(i * step + 0.0);
    return ticks;
  }
};

}  // namespace

Chart::Chart(std::string title, std::string x_label, std::string y_label) : title_(std::move(title)), x_label_(std::move(x_label)), y_label_(std::move(y_label)) {}

Chart& Chart::add(Series series) {
  if (series.x.size() != series.y.size()) throw ShapeError("chart: " + series.name + " has " + std::to_string(series.x.size()) + " x and " + std::to_string(series.y.size()) + " y", "give each point both");
  series_.push_back(std::move(series));
  return *this;
}
Chart& Chart::line(std::string name, std::vector<double> y) {
  std::vector<double> x(y.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  return line(std::move(name), std::move(x), std::move(y));
}
Chart& Chart::line(std::string name, std::vector<double> x, std::vector<double> y) { return add({std::move(name), std::move(x), std::move(y), true}); }
Chart& Chart::points(std::string name, std::vector<double> x, std::vector<double> y) { return add({std::move(name), std::move(x), std::move(y), false}); }
Chart& Chart::log_y() {
  is_log_ = true;
  return *this;
}

std::string Chart::svg() const {
  Axis across{.from = kLeft, .to = kWidth - kRight}, up{.from = kHeight - kBottom, .to = kTop, .is_log = is_log_};
  for (const Series& series : series_) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!across.has(series.x[i]) || !up.has(series.y[i])) continue;
      across.add(series.x[i]);
      up.add(series.y[i]);
    }
  }
  across.finish();
  up.finish();
  std::string svg = print("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", kWidth, kHeight);
  const auto text = [&](double x, double y, const char* anchor, const std::string& words, const std::string& more = {}) {
    svg += print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor) + more + ">" + escape_xml(words) + "</text>\n";
  };
  const double middle = (kLeft + kWidth - kRight) / 2, centre = (kTop + kHeight - kBottom) / 2;
  text(middle, kTop - 16, "middle", title_, " font-size=\"15\"");
  text(middle, kHeight - 12, "middle", x_label_);
  text(18, centre, "middle", y_label_, print(" transform=\"rotate(-90 18 %.1f)\"", centre));
  for (const double tick : across.ticks()) {
    const double x = across.place(tick);
    svg += print("<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>\n", x, kTop, kHeight - kBottom);
    text(x, kHeight - kBottom + 16, "middle", print("%g", tick));
  }
  for (const double tick : up.ticks()) {
    const double y = up.place(tick);
    svg += print("<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", kLeft, y, kWidth - kRight);
    text(kLeft - 6, y + 4, "end", print("%.3g", tick));
  }
  for (std::size_t n = 0; n < series_.size(); ++n) {
    const Series& series = series_[n];
    const char* colour = kColours[n % std::size(kColours)];
    std::string path;
    bool is_down = false;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const bool is_there = across.has(series.x[i]) && up.has(series.y[i]);
      if (is_there) path += print(series.is_line ? "%s%.1f %.1f" : "%s%.1f %.1fh0", is_down && series.is_line ? "L" : "M", across.place(series.x[i]), up.place(series.y[i]));
      is_down = is_there;
    }
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + (series.is_line ? "\" stroke-width=\"2\"/>\n" : "\" stroke-width=\"5\" stroke-linecap=\"round\" stroke-opacity=\"0.6\"/>\n");
    const double y = kTop + 12 + 18 * static_cast<double>(n);
    svg += print("<path d=\"M%.1f %.1fh16\" stroke=\"%s\" stroke-width=\"3\"/>\n", kWidth - kRight + 10, y - 4, colour);
    text(kWidth - kRight + 32, y, "start", series.name);
  }
  return svg + "</svg>\n";
}

void Chart::save(const std::string& path) const {
  io::AtomicFile file("chart", path);
  file.write(svg());
  file.commit();
}

}  // namespace damo
