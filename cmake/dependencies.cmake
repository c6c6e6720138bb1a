# Libraries are found, never fetched. Debian, Ubuntu and conda-forge name and package them differently, so each is mapped
# to one imported target here and nowhere else. docs/decisions/0002-dependencies.md says why each one is there.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED) # fmt::fmt, compiled: header-only, fmt would be half of every compile and more
find_package(PkgConfig REQUIRED)

# headrace_pkg(TARGET MODULE DEBIAN_PACKAGE): an imported target from pkg-config, with the package to ask for if absent.
function(headrace_pkg TARGET MODULE PACKAGE)
  pkg_check_modules(${MODULE} QUIET IMPORTED_TARGET ${MODULE})
  if(NOT ${MODULE}_FOUND)
    message(FATAL_ERROR "${MODULE} is missing. Debian/Ubuntu: apt install ${PACKAGE}. conda: see environment.yml.")
  endif()
  add_library(${TARGET} ALIAS PkgConfig::${MODULE})
endfunction()
headrace_pkg(deflate::deflate libdeflate libdeflate-dev)
headrace_pkg(zstd::zstd libzstd libzstd-dev)
headrace_pkg(lz4::lz4 liblz4 liblz4-dev)
headrace_pkg(hwy::hwy libhwy libhwy-dev)

# c-blosc ships a .pc file on some systems only.
find_path(BLOSC_INCLUDE_DIR blosc.h REQUIRED)
find_library(BLOSC_LIBRARY blosc REQUIRED)
add_library(blosc::blosc INTERFACE IMPORTED)
target_include_directories(blosc::blosc SYSTEM INTERFACE ${BLOSC_INCLUDE_DIR})
target_link_libraries(blosc::blosc INTERFACE ${BLOSC_LIBRARY})

find_package(HDF5 1.10.7 REQUIRED COMPONENTS C)
add_library(hdf5::headrace INTERFACE IMPORTED)
target_include_directories(hdf5::headrace SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_compile_definitions(hdf5::headrace INTERFACE ${HDF5_C_DEFINITIONS})
target_link_libraries(hdf5::headrace INTERFACE ${HDF5_C_LIBRARIES})
if(NOT TARGET hdf5::hdf5)
  add_library(hdf5::hdf5 ALIAS hdf5::headrace)
endif()

find_package(BZip2 REQUIRED) # BZip2::BZip2; Debian's has no .pc file
find_package(ZLIB REQUIRED) # says why a deflate stream is bad; the demo's writer
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
if(HEADRACE_BUILD_CLI)
  find_package(CLI11 REQUIRED)
endif()
if(HEADRACE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_path(RAPIDCHECK_INCLUDE_DIR rapidcheck.h REQUIRED)
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  add_library(rapidcheck INTERFACE)
  target_include_directories(rapidcheck SYSTEM INTERFACE ${RAPIDCHECK_INCLUDE_DIR})
  target_link_libraries(rapidcheck INTERFACE ${RAPIDCHECK_LIBRARY})
endif()
if(HEADRACE_BUILD_MICROBENCH)
  find_package(benchmark REQUIRED)
endif()
