// Several threads call one Function at once. A Function holds what was compiled once; each call that runs at the same
// time as another gets cells of its own. Results belong to their callers and are never overwritten.
#include <atomic>
#include <damo/damo.hpp>
#include <iostream>
#include <thread>
using namespace damo;

int main() {
  const Variable x = vector("x"), factor = scalar("factor");
  const Function f = function({x, factor}, {factor * x + 1.0});

  std::atomic<int> wrong = 0, calls = 0;
  const auto work = [&](int number) {
    for (int call = 0; call < 50; ++call) {
      const std::int64_t size = 100 + (number * 50 + call) % 17;  // shapes differ between threads and calls
      const Array y = f(Array::full({size}, 2.0f), Array::scalar(static_cast<float>(number)));
      for (float value : y.to_vector<float>()) wrong += value != 2.0f * static_cast<float>(number) + 1;
      wrong += y.shape() != Shape{size};
      ++calls;
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();

  std::cout << calls << " calls from " << threads.size() << " threads, " << wrong << " wrong\n";
  std::cout << (wrong == 0 ? "right\n" : "WRONG\n");
  return wrong == 0 ? 0 : 1;
}
