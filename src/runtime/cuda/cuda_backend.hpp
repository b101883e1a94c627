// What device_registry and `damo doctor` need of the CUDA back end. Nothing here throws where there is no driver or no
// GPU, but make_cuda_backend.
#pragma once
#include <memory>
#include <optional>
#include <string>

namespace damo {

class Backend;

/// "cuda:<index>". Throws DeviceError if there is no such GPU. The GPU's context is made at the first use, not here.
std::unique_ptr<Backend> make_cuda_backend(int index);

/// GPUs that this process may use; 0 without a driver.
int cuda_device_count();

/// Why no GPU can be used: no driver, one too old, no GPU; nothing if one can.
std::optional<std::string> cuda_problem();

/// "13.0 (driver 580.82.07)": the CUDA version that the driver knows; empty without one.
std::string driver_version();

/// Why CUDA kernels can't be compiled; nothing if they can. Opens NVRTC.
std::optional<std::string> nvrtc_problem();

/// "13.0, /usr/local/cuda/lib64/libnvrtc.so.13"; empty without it. Opens NVRTC.
std::string nvrtc_version();

}  // namespace damo
