# Compile for 64-bit ARM on another machine, with Debian's cross compiler and the libraries of HEADRACE_SYSROOT, a folder with
# Debian's packages for ARM; qemu runs what was built. scripts/test_aarch64.sh makes the folder and uses this file.
set(HEADRACE_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64_sysroot" CACHE PATH "Libraries and headers for ARM")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEADRACE_SYSROOT) # CMake's own small programs read this file too
get_filename_component(CMAKE_SYSROOT "${HEADRACE_SYSROOT}" ABSOLUTE)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;${CMAKE_SYSROOT})

# Programs are this machine's; all else is the folder's, whatever this machine has installed.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
set(HDF5_C_COMPILER_EXECUTABLE "" CACHE FILEPATH "No h5cc: FindHDF5 would ask this machine's own where its library is")
