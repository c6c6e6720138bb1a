# For C++ users: libheadrace.so, made of all layers, with the public headers and find_package(headrace). The libraries that
# the layers use stay private: no header of theirs is needed to compile against Headrace.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The layers' objects rather than their archives: what registers itself, and what only users call, must be there.
set(objects)
get_property(layers GLOBAL PROPERTY headrace_layers)
foreach(layer ${layers})
  get_target_property(type headrace_${layer} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:headrace_${layer}>)
  endif()
endforeach()
get_property(libraries GLOBAL PROPERTY headrace_uses)
list(REMOVE_DUPLICATES libraries)

add_library(headrace SHARED ${objects})
add_library(headrace::headrace ALIAS headrace)
target_link_libraries(headrace PRIVATE headrace_options ${libraries})
set_target_properties(headrace PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(headrace INTERFACE cxx_std_20)
target_include_directories(headrace INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)
install(TARGETS headrace EXPORT headrace LIBRARY COMPONENT cpp)
install(DIRECTORY include/headrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp FILES_MATCHING PATTERN "*.h")
install(EXPORT headrace NAMESPACE headrace:: FILE headraceConfig.cmake DESTINATION ${package_dir} COMPONENT cpp)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/headraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/headraceConfigVersion.cmake DESTINATION ${package_dir} COMPONENT cpp)
