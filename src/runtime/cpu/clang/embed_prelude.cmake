# cmake -DFILES=a.h;b.h -DOUTPUT=prelude.cpp -DDIGEST=prelude_digest.hpp -DSALT=files -P embed_prelude.cmake
# Writes the prelude's files as C++ strings, and a digest of them and of SALT (the sources of the plugin whose change
# changes code), which goes into every cache key.
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
#include \"prelude.hpp\"
namespace damo::clang_plugin {
const PreludeFile prelude_files[] = {
${table}  {nullptr, nullptr}};
}
")
file(WRITE ${DIGEST}.new "// Made by embed_prelude.cmake.\n#define DAMO_PRELUDE_DIGEST \"${digest}\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${DIGEST}.new ${DIGEST})
