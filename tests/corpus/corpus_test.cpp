// Kernels as people write them, run unchanged on each back end and compared with references of the host.
#include <gtest/gtest.h>

#include <cmath>

#include "arguments.hpp"
#include "references.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/cache.hpp"
#include "support/devices.hpp"
#include "support/sampling.hpp"
#if DAMO_HAS_CUDA
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"
#endif

namespace damo::corpus {
namespace {

/// "cpu vector_add": device and text.
class Corpus : public ::testing::TestWithParam<std::string> {};

std::string device_of(const std::string& parameter) { return parameter.substr(0, parameter.find(' ')); }
std::string text_of(const std::string& parameter) { return parameter.substr(parameter.find(' ') + 1); }

CompileRequest request_of(const Case& c) {
  CompileRequest request;
  request.source = c.source;
  request.kind = SourceKind::kCudaC;
  request.file_name = c.file;
  for (const Launch& launch : c.launches) {
    if (std::find(request.kernels.begin(), request.kernels.end(), launch.kernel) == request.kernels.end())
      request.kernels.push_back(launch.kernel);
  }
  request.flags = c.flags;
  return request;
}

DeviceArrays upload(const Arrays& arrays, Device device) {
  DeviceArrays result;
  for (const auto& [name, array] : arrays) {
    const std::vector<std::byte> bytes = to_bytes(array);
    const Shape shape{static_cast<std::int64_t>(bytes.size())};
    result.emplace(name, DeviceArray{Array::from_bytes(bytes.data(), bytes.size(), uint8, shape, device), array.dtype});
  }
  return result;
}

void run(const Case& c, Device device, const DeviceArrays& arrays) {
  const auto module = device.backend().cache().get(request_of(c));
  for (const Launch& launch : c.launches) {
    const Kernel kernel(module->kernel(launch.kernel), Stream::default_of(device));
    kernel.launch_arguments(launch.config, kernel_arguments(launch.arguments, arrays));
  }
  device.synchronize();
}

void compare(const Check& check, const CorpusArray& expected, const DeviceArray& actual) {
  std::vector<std::byte> bytes(expected.values.size() * itemsize(expected.dtype));
  actual.bytes.to_host(bytes.data());
  const std::vector<double> values = from_bytes(bytes, expected.dtype);
  int shown = 0;
  for (std::size_t i = 0; i < values.size() && shown < 5; ++i) {
    const double want = expected.values[i], error = std::abs(values[i] - want);
    const bool same = values[i] == want || (std::isnan(values[i]) && std::isnan(want));
    if (same || error <= check.within * std::max(1.0, std::abs(want))) continue;
    ADD_FAILURE() << check.array << "[" << i << "] is " << values[i] << ", should be " << want;
    ++shown;
  }
}

TEST_P(Corpus, AgreesWithItsReference) {
  std::optional<Device> device;
  try {
    device = Device(device_of(GetParam()) == "cuda" ? "cuda:0" : "cpu");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << (device_of(GetParam()) == "cuda" ? "needs a GPU: " : "needs the CPU back end: ") << error.what();
  }
  Case c = read_case(text_of(GetParam()));
  ASSERT_FALSE(c.launches.empty()) << c.file << " launches nothing";
  ASSERT_FALSE(c.checks.empty()) << c.file << " checks nothing";
  prepare(c.name, c.arrays);
  const DeviceArrays arrays = upload(c.arrays, *device);
  try {
    run(c, *device, arrays);
  } catch (const Error& error) {
    FAIL() << error.what();
  }
  Arrays expected = c.arrays;
  compute_reference(c.name, expected);
  for (const Check& check : c.checks) compare(check, expected.at(check.array), arrays.at(check.array));
}

#if DAMO_HAS_CUDA
class CorpusNvrtc : public ::testing::TestWithParam<std::string> {};

TEST_P(CorpusNvrtc, Compiles) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const Case c = read_case(GetParam());
  try {
    cuda_backend::NvrtcCompiler(damo::testing::nvrtc_architecture()).compile(request_of(c));
  } catch (const Error& error) {
    FAIL() << error.what();
  }
}
INSTANTIATE_TEST_SUITE_P(, CorpusNvrtc, ::testing::ValuesIn(case_names()), [](const auto& info) { return info.param; });
#endif

std::vector<std::string> on_each_device() {
  std::vector<std::string> parameters;
  for (const char* device : {"cpu ", "cuda "}) {
    for (const std::string& name : case_names()) parameters.push_back(device + name);
  }
  return parameters;
}
INSTANTIATE_TEST_SUITE_P(, Corpus, ::testing::ValuesIn(on_each_device()), [](const auto& info) {
  return device_of(info.param) + "_" + text_of(info.param);
});

}  // namespace
}  // namespace damo::corpus
