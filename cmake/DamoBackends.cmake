# Adds the back ends whose toolchains were found to the runtime layer.
# CUDA: headers only. The driver and NVRTC are opened at run time, so the binary also runs where neither is.
if(DAMO_HAS_CUDA)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/*.cpp)
  target_sources(damo_runtime PRIVATE ${sources})
  target_include_directories(damo_runtime SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(damo_runtime PRIVATE DAMO_HAS_CUDA=1)
  list(GET CUDAToolkit_LIBRARY_DIR 0 directory)  # one of the places where NVRTC is looked for
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/nvrtc_search.cpp PROPERTIES
    COMPILE_DEFINITIONS DAMO_CUDA_LIBRARY_DIR="${directory}")

  # The prelude of NVRTC's kernels, as text in the library.
  file(GLOB prelude_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/prelude/*.h
    ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/kernel/prelude/*.h ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/kernel/cuda_c/*.h)
  file(GLOB salt CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/nvrtc.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/standard_headers.cpp ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/prelude.cpp)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/cuda_prelude)
  file(MAKE_DIRECTORY ${made})
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_prelude.cmake)
  add_custom_command(OUTPUT ${made}/embedded_prelude.cpp BYPRODUCTS ${made}/cuda_prelude_digest.hpp
    COMMAND ${CMAKE_COMMAND} "-DFILES=${prelude_files}" "-DSALT=${salt}" -DOUTPUT=${made}/embedded_prelude.cpp
            -DDIGEST=${made}/cuda_prelude_digest.hpp -DHEADER=runtime/cuda/prelude.hpp
            -DNAMESPACE=damo::cuda_backend -DMACRO=DAMO_CUDA_PRELUDE_DIGEST -P ${script}
    DEPENDS ${prelude_files} ${salt} ${script}
    COMMENT "Embedding the CUDA prelude" VERBATIM)
  target_sources(damo_runtime PRIVATE ${made}/embedded_prelude.cpp)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/prelude.cpp PROPERTIES
    INCLUDE_DIRECTORIES ${made})
endif()

# CPU: device, pool and loader are linked in; Clang lives in a plugin opened at the first compile.
if(DAMO_HAS_CPU)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cpu/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/runtime/cpu/clang/")
  target_sources(damo_runtime PRIVATE ${sources})
  target_link_libraries(damo_runtime PRIVATE TBB::tbb Boost::context)
  target_compile_definitions(damo_runtime PRIVATE DAMO_HAS_CPU=1)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cpu/clang/CMakeLists.txt)
    add_subdirectory(src/runtime/cpu/clang)
  endif()
endif()
target_link_libraries(damo_runtime PRIVATE ${CMAKE_DL_LIBS})
