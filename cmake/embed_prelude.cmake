# cmake -DFILES=a.h;b.h -DOUTPUT=prelude.cpp -DDIGEST=prelude_digest.hpp -DSALT=files
#       -DHEADER=prelude.hpp -DNAMESPACE=damo::clang_plugin -DMACRO=DAMO_PRELUDE_DIGEST -P embed_prelude.cmake
# Writes a prelude's files as C++ strings, prelude_files[] as HEADER declares it in NAMESPACE, and as MACRO a digest of
# them and of SALT (the sources whose change changes code), which goes into every cache key.
set(table "")
set(digest "")
foreach(file ${FILES})
  file(READ ${file} text)
  string(SHA256 hash "${text}")
  string(APPEND digest "${hash}")
  get_filename_component(name ${file} NAME)
  # A string literal is limited in length by some compilers: one literal a line.
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(APPEND table "  {\"${name}\",\n    \"${text}\"},\n")
endforeach()
foreach(file ${SALT})
  file(SHA256 ${file} hash)
  string(APPEND digest "${hash}")
endforeach()
string(SHA256 digest "${digest}")
string(SUBSTRING "${digest}" 0 16 digest)
file(WRITE ${OUTPUT}
"// Made by embed_prelude.cmake.
#include \"${HEADER}\"
namespace ${NAMESPACE} {
const PreludeFile prelude_files[] = {
${table}  {nullptr, nullptr}};
}
")
file(WRITE ${DIGEST}.new "// Made by embed_prelude.cmake.\n#define ${MACRO} \"${digest}\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${DIGEST}.new ${DIGEST})
