# The rule itself is tested on a small tree with one breach of each kind: each must be reported, nothing else.
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
function(source path)
  list(JOIN ARGN "\n" text)
  file(WRITE ${WORK}/${path} "${text}\n")
endfunction()
source(include/damo/shape.hpp "#include <vector>")
source(include/damo/op.hpp "#include <boost/graph/graph_traits.hpp>" "#include <damo/shape.hpp>")
source(include/damo/device.hpp "#include <damo/op.hpp>")
source(include/damo/mystery.hpp "")
source(src/graph/base/shape.cpp "#include \"damo/op.hpp\"")
source(src/runtime/kernel/spec.hpp "#include <damo/shape.hpp>")
source(src/runtime/cuda/device.hpp "#include \"runtime/kernel/spec.hpp\"" "#include <cuda.h>")
source(src/runtime/cpu/device.cpp "#include \"../cuda/device.hpp\"")
source(src/runtime/exec/plan.cpp "#include \"runtime/cuda/device.hpp\"" "#  include <damo/op.hpp>")
source(src/runtime/device_registry.cpp "#include \"runtime/cuda/device.hpp\"")
source(src/ops/fused.cpp "#include <damo/op.hpp>")

execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CMAKE_CURRENT_LIST_DIR}/include_rule.cmake
  RESULT_VARIABLE code ERROR_VARIABLE text)
if(code EQUAL 0)
  message(FATAL_ERROR "a tree with breaches passed")
endif()
foreach(expected
    "include/damo/op.hpp: a public header includes boost/graph/graph_traits.hpp"
    "include/damo/device.hpp (runtime) includes damo/op.hpp (graph)"
    "include/damo/mystery.hpp: belongs to no part"
    "src/graph/base/shape.cpp (base) includes damo/op.hpp (graph)"
    "src/runtime/cpu/device.cpp (cpu) includes ../cuda/device.hpp (cuda)"
    "src/runtime/exec/plan.cpp (exec) includes runtime/cuda/device.hpp (cuda)")
  string(FIND "${text}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "not reported: ${expected}\n${text}")
  endif()
endforeach()
string(REGEX MATCHALL "\n  +[a-z]+/[^\n]*" reported "${text}")
list(LENGTH reported count)
if(NOT count EQUAL 6)
  message(FATAL_ERROR "6 breaches are planted, ${count} were reported:\n${text}")
endif()
