# Installs what an outside project needs for find_package(damo) and damo::damo: layer libraries, public headers,
# the compiler plugin (lib/damo, opened at run time), the damo command, and the package files.
# tests/consumer installs into an empty prefix and builds such a project.
include(CMakePackageConfigHelpers)

install(TARGETS damo damo_function damo_io damo_train damo_ops damo_runtime damo_graph EXPORT damoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/damo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inc")
if(TARGET damo_clang)
  set_target_properties(damo_clang PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)  # LLVM may live in a prefix of its own
  install(TARGETS damo_clang LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/damo)
endif()
if(TARGET damo_command)
  install(TARGETS damo_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

set(DAMO_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/damo)
install(EXPORT damoTargets NAMESPACE damo:: DESTINATION ${DAMO_CMAKE_DIR})
configure_package_config_file(cmake/damoConfig.cmake.in damoConfig.cmake INSTALL_DESTINATION ${DAMO_CMAKE_DIR}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(damoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/damoConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/damoConfigVersion.cmake
  DESTINATION ${DAMO_CMAKE_DIR})
