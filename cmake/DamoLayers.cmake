# damo_policy(target): the one set of warnings, for everything that this project compiles. GCC 12 with -O3 sees copies of
# 2^63 bytes in additions of strings (GCC's bug 105651, mended in 13), and 12 and 13 see copies past the end of vectors
# and strings that they have just shown to be empty. With -O3 they also see reads past short strings, and take what an
# optional holds for uninitialised: scripts/test, which does not optimise so far, keeps these two warnings.
#
# Each new compiler has false warnings of its own (GCC 14: array-bounds in what 12 and 13 pass), so that DAMO_WERROR holds
# for those whose warnings were all looked at.
set(DAMO_WARNINGS_ARE_KNOWN OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  set(DAMO_WARNINGS_ARE_KNOWN ON)
elseif(DAMO_WERROR)
  message(STATUS "Warnings stay warnings: ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} is neither GCC 12 nor 13")
endif()
# Warnings that GCC gives falsely, of strings mostly, when it optimises.
set(DAMO_FALSE_WARNINGS
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,14>>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-free-nonheap-object>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,14>,$<NOT:$<BOOL:${DAMO_WERROR}>>>:-Wno-maybe-uninitialized;-Wno-stringop-overread>)
function(damo_policy target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers ${DAMO_FALSE_WARNINGS}
    $<$<AND:$<BOOL:${DAMO_WERROR}>,$<BOOL:${DAMO_WARNINGS_ARE_KNOWN}>>:-Werror>)
endfunction()

# damo_precompile(target HEADER...): these headers are parsed once for all of the target's files, which include what they use
# all the same (DAMO_PCH=OFF shows who does not). Most of what a layer's file costs is parsing the standard library. Damo's own
# headers are not among them: an edit of one would compile a whole layer anew.
set(DAMO_STANDARD_HEADERS <algorithm> <array> <atomic> <cmath> <condition_variable> <cstdint> <cstring> <filesystem> <fstream>
  <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <thread>
  <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>)
function(damo_precompile target)
  if(NOT DAMO_PCH)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  damo_cached_pch(${target})
endfunction()
# damo_precompiled_by(target other): takes what was precompiled for the other target, whose options are the same and which defines
# no macro that this one lacks (GCC refuses it then).
function(damo_precompiled_by target other)
  if(DAMO_PCH)
    target_precompile_headers(${target} REUSE_FROM ${other})
    damo_cached_pch(${target})
  endif()
endfunction()
# What lets ccache cache files that use a precompiled header.
function(damo_cached_pch target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
if(DAMO_PCH)
  add_library(damo_layer_pch OBJECT ${PROJECT_SOURCE_DIR}/tests/pch.cpp)  # once for all six layers; a library, for -fPIC as in them
  target_link_libraries(damo_layer_pch PRIVATE Threads::Threads)
  damo_policy(damo_layer_pch)
  damo_precompile(damo_layer_pch ${DAMO_STANDARD_HEADERS})
endif()

# damo_compile_together(target): with DAMO_QUICK_BUILD up to twenty neighbours of a folder are one source, as half of what a file costs
# are headers that its neighbours include too. Names in the unnamed namespaces of one folder's files differ therefore. A file with flags of its own stays alone.
function(damo_compile_together target)
  if(NOT DAMO_QUICK_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" folder "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR group "0${count_${folder}} / 20")
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# damo_quick_program(target): what nobody waits for while it runs.
function(damo_quick_program target)
  damo_compile_together(${target})
  if(DAMO_QUICK_BUILD)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# damo_layer(NAME SOURCES dir... LINKS targets... HEADERS targets...): one static library a layer.
# LINKS: a damo_ layer is passed on to the layer's users, another library is not, but must be found again by
# who links the installed layer (damoConfig does that). HEADERS: needed to compile the layer, never afterwards.
# src/runtime/cpu and src/runtime/cuda are left to DamoBackends, which knows what their toolchains need.
function(damo_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;HEADERS" ${ARGN})
  set(sources)
  foreach(dir ${ARG_SOURCES})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
    file(GLOB file CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}.cpp)
    list(APPEND sources ${found} ${file})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/src/runtime/(cpu|cuda)/")
  if(NOT sources)  # a library needs a source, and a new layer has none yet
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty/${name}.cpp)
    file(CONFIGURE OUTPUT ${sources} CONTENT "namespace damo {}\n")
  endif()
  add_library(damo_${name} STATIC ${sources})
  add_library(damo::${name} ALIAS damo_${name})
  set_target_properties(damo_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(damo_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_compile_features(damo_${name} PUBLIC cxx_std_20)
  damo_policy(damo_${name})
  damo_precompiled_by(damo_${name} damo_layer_pch)
  target_link_libraries(damo_${name} PUBLIC Threads::Threads)
  foreach(link ${ARG_LINKS})
    if(link MATCHES "^damo_")
      target_link_libraries(damo_${name} PUBLIC ${link})
    else()
      target_link_libraries(damo_${name} PRIVATE ${link})
    endif()
  endforeach()
  foreach(link ${ARG_HEADERS})
    target_link_libraries(damo_${name} PRIVATE $<BUILD_INTERFACE:${link}>)
  endforeach()
endfunction()
