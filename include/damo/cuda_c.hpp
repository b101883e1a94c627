// CUDA C from C++: compile it at run time, pass arrays in and out, on a GPU and on any CPU. damo.hpp includes this too.
#pragma once
#include <damo/array.hpp>
#include <damo/cache.hpp>
#include <damo/device.hpp>
#include <damo/error.hpp>
#include <damo/global.hpp>
#include <damo/host_argument.hpp>
#include <damo/kernel.hpp>
#include <damo/launch_config.hpp>
#include <damo/module.hpp>
#include <damo/module_options.hpp>
#include <damo/prepared_kernel.hpp>
#include <damo/strided.hpp>
