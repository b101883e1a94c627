// A Gaussian process on one line of a photograph: every other pixel is known, the process tells the rest, and how sure it is (Rasmussen, Williams 2006,
// chapter 2). Its three numbers (amplitude, length scale, noise) are learned by climbing the gradient of the marginal likelihood, through a Cholesky factor
// (chapter 5). The covariance, Matern's of order 3/2, is a row of our own, with a gradient; matrices are in float64.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
#include <numbers>

#include "support/digits.hpp"
#include "support/pipeline.hpp"
#include "support/png_image.hpp"
using namespace damo;

/// Of points d length scales apart, sqrt(3) d being x0.
inline const Elementwise matern{{.name = "matern", .doc = "(1 + x) e^-x", .code = "(T(1) + x0) * exp(-x0)",
                                 .gradient = [](auto& g, auto& in, auto&) { return Gradients(g * -in[0] * exp(-in[0])); }}};

int main(int count, char** arguments) {
  const bool full = examples::arguments_of(count, arguments).full;
  const examples::Image photograph = examples::read_png(examples::data_file("astronaut.png"));
  const int width = photograph.width, line = photograph.height / 2;
  std::vector<double> where[2], brightness[2];  // of pixels that are known, and that are to be told
  for (int i = 0; i < width; ++i) {
    where[i % 2].push_back(i);
    brightness[i % 2].push_back(photograph.pixels[static_cast<std::size_t>(line * width + i)] / 255.0);
  }
  double mean_brightness = 0;
  for (double value : brightness[0]) mean_brightness += value / static_cast<double>(brightness[0].size());
  const std::int64_t n = static_cast<std::int64_t>(where[0].size());
  const Shared at = shared("at", Array::from(where[0])), known = shared("known", Array::from(brightness[0]) - mean_brightness), identity = shared("identity", eye(n, {}, 0, float64));
  const Shared amplitude = shared("amplitude", Array::scalar(std::log(0.3))), scale = shared("scale", Array::scalar(std::log(10.0))),
               noise = shared("noise", Array::scalar(std::log(0.05)));  // logarithms: any number will do

  const auto covariance = [&](const Variable& a, const Variable& b) {
    return exp(2 * amplitude) * matern(std::numbers::sqrt3 * abs(expand_dims(a, 1) - b) * exp(-scale));
  };
  const Variable l = cholesky(covariance(at, at) + exp(2 * noise) * identity), weights = cholesky_solve(l, known);
  const Variable likelihood = -0.5 * dot(known, weights) - sum(log(diagonal(l))) - 0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi);
  const Function climb = function({}, {likelihood}, {.name = "climb", .updates = optim::adam(-likelihood, {amplitude, scale, noise}, 0.1)});

  const int steps = full ? 300 : 40;
  Progress progress(steps, "marginal likelihood");
  std::vector<double> history;
  for ([[maybe_unused]] std::int64_t step : progress) {
    history.push_back(Array(climb()).item().as_double());
    progress.show("likelihood", history.back());
  }

  // What the known pixels say of the others: mean and deviation.
  const Variable asked = vector("asked", float64), across = covariance(asked, at), solved = solve_triangular(l, transpose(across));
  const Variable guess = dot(across, weights) + mean_brightness, deviation = sqrt(exp(2 * amplitude) + exp(2 * noise) - sum(sqr(solved), 0));
  const auto [told, unsure] = function({asked}, {guess, deviation}, {.name = "tell"}).call<2>(Array::from(where[1]));
  const std::vector<double> values = told.to_doubles(), deviations = unsure.to_doubles();

  double error = 0, line_error = 0;
  int within = 0, between = 0;
  std::vector<double> low, high;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(values[i] - brightness[1][i], 2) / static_cast<double>(values.size());
    within += std::abs(values[i] - brightness[1][i]) < 1.96 * deviations[i];
    low.push_back(values[i] - 1.96 * deviations[i]);
    high.push_back(values[i] + 1.96 * deviations[i]);
    if (i + 1 < brightness[0].size()) line_error += std::pow((brightness[0][i] + brightness[0][i + 1]) / 2 - brightness[1][i], 2), ++between;
  }
  const auto value_of = [](const Shared& logarithm) { return std::exp(logarithm.array().item().as_double()); };
  std::cout << n << " pixels known; log marginal likelihood " << history.front() << " to " << history.back() << "; amplitude " << value_of(amplitude) << ", length scale "
            << value_of(scale) << " pixels, noise " << value_of(noise) << "\nerror of the others (root of the mean square) " << std::sqrt(error) << ", straight lines " << std::sqrt(line_error / between)
            << "; " << 100.0 * within / static_cast<double>(values.size()) << " % lie in the band of 95 %, " << examples::seconds() << " s\n";
  Chart chart("A line of a photograph: every other pixel told by a Gaussian process", "pixel", "brightness");
  chart.line("told", where[1], values).line("95 %, low", where[1], low).line("high", where[1], high).points("known", where[0], brightness[0]);
  chart.save("gaussian_process.svg");

  const double share = static_cast<double>(within) / static_cast<double>(values.size());
  const bool right = history.back() > history.front() && error < 1.1 * line_error / between && share > 0.88;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
