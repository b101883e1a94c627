# Installs the build tree BUILD into an empty prefix under WORK, then configures, builds and runs app/ against it.
file(REMOVE_RECURSE ${WORK})
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  message("${text}")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "consumer: ${what} failed (${code})")
  endif()
endfunction()
set(flags)
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
# What Damo depends on is found where the build found it.
string(REPLACE ";" ":" dependencies "${DEPENDENCIES}")
set(ENV{CMAKE_PREFIX_PATH} "${dependencies}:$ENV{CMAKE_PREFIX_PATH}")
step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step("configure" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/app -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${TYPE} -DCMAKE_PREFIX_PATH=${WORK}/prefix ${flags})
step("build" ${CMAKE_COMMAND} --build ${WORK}/build)
step("run" ${WORK}/build/app)

# The program found the plugin of the prefix, and not that of the build tree, which its users do not have.
file(GLOB_RECURSE plugin ${WORK}/prefix/*/libdamo_clang.so)
if(plugin)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_DEBUG=files DAMO_DEVICE=cpu DAMO_CACHE_LIMIT=0 ${WORK}/build/app
    OUTPUT_QUIET ERROR_VARIABLE text)
  string(FIND "${text}" "calling init: ${plugin}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "consumer: ${plugin} was not opened")
  endif()
endif()
