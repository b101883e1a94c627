// run_on DEVICE PROGRAM [ARGUMENTS]: the tests' way to run a page on one device. Sets DAMO_DEVICE and becomes the
// program; where the device is not there, says what is missing, as GoogleTest does, and exits with 77, which ctest
// counts as skipped.
#include <unistd.h>

#include <cstdlib>
#include <damo/device.hpp>
#include <damo/error.hpp>
#include <iostream>
#include <string>

int main(int count, char** arguments) {
  if (count < 3) {
    std::cerr << "run_on DEVICE PROGRAM [ARGUMENTS]\n";
    return 2;
  }
  const std::string device = arguments[1];
  try {
    damo::Device{device};
  } catch (const damo::DeviceError& error) {
    std::cout << arguments[2] << ": Skipped\n"
              << (device == "cpu" ? "needs the CPU back end: " : "needs a GPU: ") << error.what() << "\n";
    return 77;
  }
  setenv("DAMO_DEVICE", arguments[1], 1);
  execv(arguments[2], arguments + 2);
  std::cerr << "run_on: cannot start " << arguments[2] << "\n";
  return 1;
}
