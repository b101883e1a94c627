// Hamiltonian Monte Carlo (Neal 2011): a parabola through noisy points, and how sure one may be of its three numbers. 128 chains move at once, a step of all of them is
// one call: the gradient of the potential by grad(), ten leapfrog steps unrolled into the graph, momenta and acceptances drawn in its kernels. Of this
// model the posterior is known in closed form, which the samples are held against.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
#include <random>

#include "support/pipeline.hpp"
using namespace damo;

namespace {

constexpr double kNoise = 0.5, kPrior = 4;  // standard deviations, of the points and of each number beforehand

}  // namespace

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const std::int64_t points = 60, chains = 128;
  std::mt19937_64 made(run.seed);
  std::normal_distribution<double> normal(0, kNoise);
  std::vector<double> powers, measured, places;
  for (std::int64_t i = 0; i < points; ++i) {
    const double t = -1 + 2 * static_cast<double>(i) / static_cast<double>(points - 1);
    powers.insert(powers.end(), {1, t, t * t});
    places.push_back(t);
    measured.push_back(0.5 - t + 1.5 * t * t + normal(made));
  }
  const Shared x = shared("x", Array::from(powers, {points, 3})), y = shared("y", Array::from(measured));
  const Shared theta = shared("theta", Array::zeros({chains, 3}, float64)), sum_of = shared("sum", Array::zeros({3}, float64)), products = shared("products", Array::zeros({3, 3}, float64));

  // Minus the logarithm of the posterior's density, of each chain.
  const auto potential = [&](const Variable& q) { return 0.5 / (kNoise * kNoise) * sum(sqr(y - dot(q, transpose(x))), 1) + 0.5 / (kPrior * kPrior) * sum(sqr(q), 1); };
  const auto force = [&](const Variable& q) { return -grad(sum(potential(q)), q); };
  const double step = 0.06;
  const int leaps = 10;
  RandomStream random(run.seed);
  const Variable start = 1.0 * theta, momentum = random.normal({chains, 3}, 0, 1, float64);
  Variable q = start, p = momentum + 0.5 * step * force(start);
  for (int leap = 0; leap < leaps; ++leap) {
    q = q + step * p;
    p = p + (leap + 1 < leaps ? step : 0.5 * step) * force(q);
  }
  const auto energy = [&](const Variable& place, const Variable& speed) { return potential(place) + 0.5 * sum(sqr(speed), 1); };
  const Variable accepted = lt(log(random.uniform({chains}, 0, 1, float64)), energy(start, momentum) - energy(q, p));
  const Variable next = where(expand_dims(accepted, 1), q, start);
  const Function warm_up = function({}, {mean(accepted)}, {.name = "warm_up", .updates = {{theta, next}}});
  const Function sample = function({}, {mean(accepted)}, {.name = "sample", .updates = {{theta, next}, {sum_of, sum_of + sum(next, 0)}, {products, products + dot(transpose(next), next)}}});

  const int calls = run.full ? 5000 : 300;
  for (int call = 0; call < 50; ++call) warm_up();
  double rate = 0;
  Progress progress(calls, "samples");
  for ([[maybe_unused]] std::int64_t call : progress) rate += Array(sample()).item().as_double() / calls;

  const double total = static_cast<double>(chains * calls);
  const Array centre = sum_of.array() / total, covariance = products.array() / total - outer(centre, centre);
  const Array precision = dot(x.array().transpose(), x.array()) / (kNoise * kNoise) + eye(3, {}, 0, float64) / (kPrior * kPrior);
  const Array exact_covariance = inv(precision), exact = dot(exact_covariance, dot(x.array().transpose(), y.array())) / (kNoise * kNoise);
  const std::vector<double> means = centre.to_doubles(), exact_means = exact.to_doubles(), variances = diagonal(covariance).to_doubles(), exact_variances = diagonal(exact_covariance).to_doubles();
  bool right = rate > 0.6;
  std::cout << chains << " chains, " << calls << " samples of each, " << 100 * rate << " % accepted, " << examples::seconds() << " s\n";
  const char* names[] = {"constant", "slope", "bend"};
  for (std::size_t i = 0; i < 3; ++i) {
    const double deviation = std::sqrt(exact_variances[i]);
    std::cout << names[i] << ": " << means[i] << " +- " << std::sqrt(variances[i]) << ", exactly " << exact_means[i] << " +- " << deviation << "\n";
    // Samples of a chain follow each other; were a tenth of them independent the mean would lie within this in all but one of 15,000 runs.
    right = right && std::abs(means[i] - exact_means[i]) < 4 * deviation / std::sqrt(total / 10) && std::abs(variances[i] / exact_variances[i] - 1) < 4 * std::sqrt(2 / (total / 10));
  }

  const std::vector<double> last = theta.array().to_doubles();
  Chart chart("Parabolas that the points allow: Hamiltonian Monte Carlo", "t", "y");
  for (std::size_t chain = 0; chain < 5; ++chain) {
    std::vector<double> curve;
    for (double t : places) curve.push_back(last[3 * chain] + last[3 * chain + 1] * t + last[3 * chain + 2] * t * t);
    chart.line("chain " + std::to_string(chain), places, curve);
  }
  chart.points("measured", places, measured).save("hamiltonian_monte_carlo.svg");
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
