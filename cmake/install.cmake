# For C++ users: libheadrace.so, made of all floors, with the public headers and find_package(headrace). The libraries that
# the floors use stay private: no header of theirs is needed to compile against Headrace.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(floors headrace_base headrace_catalog headrace_storage headrace_codec headrace_format headrace_order headrace_assembly
           headrace_delivery headrace_loader)
set(archives)
foreach(floor ${floors})
  get_target_property(type ${floor} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND archives ${floor})
  endif()
endforeach()

file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/empty.cpp CONTENT "// CMake wants one source of the library's own.\n")
add_library(headrace SHARED ${CMAKE_BINARY_DIR}/empty.cpp)
add_library(headrace::headrace ALIAS headrace)
set_target_properties(headrace PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# Whole archives: what registers itself, and what only users call, must be there. Other ways to the same floors agree.
string(REPLACE ";" "," whole "${archives}")
set_property(TARGET headrace PROPERTY LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${whole}")
target_link_libraries(headrace PRIVATE ${floors})
target_compile_features(headrace INTERFACE cxx_std_20)
target_include_directories(headrace INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)
install(TARGETS headrace EXPORT headrace LIBRARY COMPONENT cpp)
install(DIRECTORY include/headrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp FILES_MATCHING PATTERN "*.h")
install(EXPORT headrace NAMESPACE headrace:: FILE headraceConfig.cmake DESTINATION ${package_dir} COMPONENT cpp)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/headraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/headraceConfigVersion.cmake DESTINATION ${package_dir} COMPONENT cpp)
