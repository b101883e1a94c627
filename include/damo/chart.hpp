// Chart: curves and clouds of points as an SVG picture, for what a training run leaves behind.
//
//   Chart chart("MLP on Fashion-MNIST", "epoch", "loss");
//   chart.line("train", train_losses).line("test", test_losses).log_y().save("loss.svg");
//
// A line's x are 0, 1, ... unless told. What is NaN or infinite, or not above 0 on a logarithmic axis, leaves a gap. Saved whole or not at all
// (io/npy.hpp); FileError. See tests/train/chart_test.cpp.
#pragma once
#include <string>
#include <vector>

namespace damo {

class Chart {
 public:
  explicit Chart(std::string title, std::string x_label = {}, std::string y_label = {});
  Chart& line(std::string name, std::vector<double> y);
  /// ShapeError unless there are as many x as y.
  Chart& line(std::string name, std::vector<double> x, std::vector<double> y);
  Chart& points(std::string name, std::vector<double> x, std::vector<double> y);
  Chart& log_y();

  std::string svg() const;
  void save(const std::string& path) const;

 private:
  struct Series {
    std::string name;
    std::vector<double> x, y;
    bool is_line;
  };
  Chart& add(Series series);
  std::string title_, x_label_, y_label_;
  std::vector<Series> series_;
  bool is_log_ = false;
};

}  // namespace damo
