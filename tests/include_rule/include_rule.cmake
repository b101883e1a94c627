# Reads every #include of ROOT/src and ROOT/include/damo and reports those that point the wrong way.
#
#   base <- graph <- runtime <- ops <- function
#   runtime <- io: file formats, which know arrays and shared variables, no ops
#   {ops, io} <- train: layers, optimizers, loaders, which know no Function
#   inside runtime:  kernel <- {null, cpu, cuda};  graph, kernel <- exec;  only device_registry sees them all
#   a public header includes the standard library and damo's own headers, nothing else; boost_graph.hpp, which its
#   users ask for, Boost.Graph's too
#
# A file of src/ belongs to the part that its folder names; a public header to the one listed here.
cmake_policy(VERSION 3.25)

set(public_base     error linalg_error dtype shape log half float8 scalar version)
set(public_graph    type variable op graph graph_lists rewrite print boost_graph)
set(public_runtime  kernel launch_config parameter_type kernel_argument host_argument strided prepared_kernel device array
                    cuda_c stream event memory host_memory ipc captured_graph dlpack module module_options global source_text compiler cache index)
set(public_exec     thunk shared profile call_plan array_constant)
set(public_ops      elementwise kernel_op raw_kernel gradient custom_gradient derivatives options array_operand array_conv array_decompositions array_fft fft_norm array_linalg
                    array_math array_reduce array_create array_scan array_shape array_sort array_statistics array_choose array_matrix_functions array_signal array_masks
                    array_subtensor array_softmax array_indexing axes reduce_options elementwise_kernel join_definition reduction_kernel scan_kernel random loop loop_checkpoints windows)
set(public_train    nn optim data_loader progress chart)
set(public_function function compare report verify_grad test_values check_function damo)

# What a part may include, besides itself.
set(may_base     "")
set(may_graph    base)
set(may_runtime  base kernel)  # arrays, devices, CUDA C: below the graph, above the kernel texts
set(may_kernel   base runtime)
foreach(backend null cpu cuda)
  set(may_${backend} base runtime kernel)
endforeach()
set(may_exec     base graph runtime kernel)
set(may_registry base runtime kernel null cpu cuda)
set(may_io       base graph runtime kernel exec)
set(may_ops      base graph runtime kernel exec)
set(may_train    base graph runtime kernel exec ops io)
set(may_function base graph runtime kernel exec ops io train)  # io, train: damo.hpp names everything

# part_of(variable path): the part that a path under ROOT belongs to, or "?".
function(part_of variable path)
  set(part "?")
  if(path MATCHES "^include/damo/ops/")
    set(part ops)
  elseif(path MATCHES "^include/damo/io/")
    set(part io)
  elseif(path MATCHES "^include/damo/(.*)\\.hpp$")
    set(name ${CMAKE_MATCH_1})
    foreach(candidate base graph runtime exec ops train function)
      if(name IN_LIST public_${candidate})
        set(part ${candidate})
      endif()
    endforeach()
  elseif(path MATCHES "^src/graph/base/")
    set(part base)
  elseif(path MATCHES "^src/runtime/device_registry\\.cpp$")
    set(part registry)
  elseif(path MATCHES "^src/runtime/(kernel|null|cpu|cuda|exec)/")
    set(part ${CMAKE_MATCH_1})
  elseif(path MATCHES "^src/(graph|runtime|io|ops|train|function)[/.]")
    set(part ${CMAKE_MATCH_1})
  endif()
  set(${variable} ${part} PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/includes.cmake)

file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/src/*.[ch]pp ${ROOT}/src/*.h ${ROOT}/include/damo/*.hpp)
set(breaches)
set(count 0)
foreach(file ${files})
  part_of(part ${file})
  if(part STREQUAL "?")
    list(APPEND breaches "${file}: belongs to no part; name it in tests/include_rule/include_rule.cmake")
    continue()
  endif()
  includes_of(found ${file})
  foreach(included ${found})
    math(EXPR count "${count} + 1")
    if(file MATCHES "^include/" AND NOT file MATCHES "/boost_graph\\.hpp$" AND NOT included MATCHES "^damo/[a-z0-9_/]+\\.(hpp|inc)$|^[a-z0-9_]+$")
      list(APPEND breaches "${file}: a public header includes ${included}; only standard headers and <damo/...> may stand there")
    endif()
    resolve(target ${file} ${included})
    if(target)
      part_of(other ${target})
      if(NOT other STREQUAL part AND NOT other IN_LIST may_${part})
        list(APPEND breaches "${file} (${part}) includes ${included} (${other})")
      endif()
    endif()
  endforeach()
endforeach()
if(breaches)
  list(JOIN breaches "\n  " breaches)
  message(FATAL_ERROR "Includes that point the wrong way:\n  ${breaches}\n")
endif()
message("${count} includes point the right way")
