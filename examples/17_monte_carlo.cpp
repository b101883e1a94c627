// Monte Carlo: pi from points in a square, and the price of an option from paths of a stock, each one kernel that keeps no number in memory.
#include <damo/damo.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
using namespace damo;

int main(int, char** argv) {
  const char* const asked = argv[0] ? std::getenv("MONTE_CARLO_POINTS") : nullptr;
  const std::int64_t points = asked ? std::atoll(asked) : 1 << 20;
  RandomStream random(8);

  // The share of a square's points that lie within a quarter of a circle. The comparison's truths are summed as they are drawn.
  const Variable x = random.uniform({points}), y = random.uniform({points});
  const Function inside = function({}, {mean(lt(x * x + y * y, 1.0))});
  double sum = 0;
  for (int call = 1; call <= 8; ++call) {
    sum += inside.call<1>()[0].item().as_double();
    std::printf("%9lld points: pi is about %.5f\n", static_cast<long long>(call * points), 4 * sum / call);
  }
  if (std::fabs(4 * sum / 8 - 3.14159265) > 0.003 * std::sqrt(8388608.0 / (8.0 * static_cast<double>(points)))) return 1;

  // A call on a stock of 100 at 105 in a year, 5 % interest, 20 % volatility; by its price at the start too: Black and Scholes say 8.0214 and 0.5422.
  const Variable start = scalar("start", float64), z = random.normal({points}, 0, 1, float64);
  const Variable end = start * exp(0.05 - 0.5 * 0.2 * 0.2 + 0.2 * z);
  const Variable price = std::exp(-0.05) * mean(maximum(end - 105.0, 0.0));
  const Function option = function({start}, {price, grad(price, start)});
  const auto [value, slope] = option.call<2>(Array::scalar(100.0));
  std::printf("option: price %.4f, by the stock's %.4f\n", value.item().as_double(), slope.item().as_double());
  std::printf("%s", option.explain().c_str());

  // Saved, and gone on from there: the same numbers again.
  const Shared state(random.state());
  const Array saved = state.array();
  const double next = inside.call<1>()[0].item().as_double();
  state.set(saved);
  return inside.call<1>()[0].item().as_double() == next && std::fabs(value.item().as_double() - 8.0214) < 40 / std::sqrt(static_cast<double>(points)) ? 0 : 1;
}
