# Adds the back ends whose toolchains were found to the runtime layer.
# CUDA: headers only. The driver and NVRTC are opened at run time, so the binary also runs where neither is.
if(DAMO_HAS_CUDA)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cuda/*.cpp)
  target_sources(damo_runtime PRIVATE ${sources})
  target_include_directories(damo_runtime SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(damo_runtime PRIVATE DAMO_HAS_CUDA=1)
endif()

# CPU: device, pool and loader are linked in; Clang lives in a plugin opened at the first compile.
if(DAMO_HAS_CPU)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cpu/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/runtime/cpu/clang/")
  target_sources(damo_runtime PRIVATE ${sources})
  target_link_libraries(damo_runtime PRIVATE TBB::tbb)
  target_compile_definitions(damo_runtime PRIVATE DAMO_HAS_CPU=1)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/runtime/cpu/clang/CMakeLists.txt)
    add_subdirectory(src/runtime/cpu/clang)
  endif()
endif()
target_link_libraries(damo_runtime PRIVATE ${CMAKE_DL_LIBS})
