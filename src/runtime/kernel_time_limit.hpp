// DAMO_KERNEL_TIME_LIMIT: seconds after which a CUDA C kernel on the CPU is stopped.
#pragma once

namespace damo {

class Backend;

/// 0 if it is not set. Throws OptionError for what is no number of seconds.
double kernel_time_limit_of_environment();

/// Logs that the limit will not be kept, if the device is a GPU and there is a limit.
void tell_kernel_time_limit(const Backend& backend, double seconds);

}  // namespace damo
