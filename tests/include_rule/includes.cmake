# What the rules of includes have in common. ROOT: of the tree.

# includes_of(variable file): what its #include lines name, as they name it.
function(includes_of variable file)
  file(STRINGS ${ROOT}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  set(names)
  foreach(line ${lines})
    string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"].*" "\\1" included "${line}")
    list(APPEND names ${included})
  endforeach()
  set(${variable} ${names} PARENT_SCOPE)
endfunction()

# resolve(variable from included): the path under ROOT that an include means, or "" for another library's header.
function(resolve variable from included)
  get_filename_component(folder ${from} DIRECTORY)
  set(${variable} "" PARENT_SCOPE)
  foreach(base ${folder} src include)
    if(EXISTS ${ROOT}/${base}/${included} AND NOT IS_DIRECTORY ${ROOT}/${base}/${included})
      cmake_path(SET found NORMALIZE "${base}/${included}")
      set(${variable} ${found} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
