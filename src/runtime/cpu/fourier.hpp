// FourierEngine of the CPU: plans (fourier_plan.hpp) that are kept by extent, several arrays side by side in a block, blocks on the pool's threads.
#pragma once
#include <memory>

#include "runtime/cpu/worker_pool.hpp"
#include "runtime/library/fourier.hpp"

namespace damo::cpu_backend {

std::unique_ptr<FourierEngine> make_fourier_engine(const Backend& backend, const WorkerPool& workers);

}  // namespace damo::cpu_backend
