# A module for another Python, or another processor, than the interpreter's that builds it: HEADRACE_PYTHON_HEADERS names the
# folders of its Python.h and its pyconfig.h. This defines what find_package(Python) would, as far as nanobind asks for it.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
list(GET HEADRACE_PYTHON_HEADERS 0 folder)
file(STRINGS ${folder}/patchlevel.h defined REGEX "define PY_(MAJOR|MINOR)_VERSION")
string(REGEX MATCHALL "[0-9]+" Python_VERSION "${defined}")
list(GET Python_VERSION 0 Python_VERSION_MAJOR)
list(GET Python_VERSION 1 Python_VERSION_MINOR)
list(JOIN Python_VERSION "." Python_VERSION)
set(Python_INTERPRETER_ID Python)
set(Python_INCLUDE_DIRS ${HEADRACE_PYTHON_HEADERS})
set(Python_SOABI cpython-${Python_VERSION_MAJOR}${Python_VERSION_MINOR}-${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(Python_SOSABI abi3)
foreach(target Python::Module Python::SABIModule)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${HEADRACE_PYTHON_HEADERS})
endforeach()
# nanobind counts on Python.h to include it, which that of the stable ABI does not.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include stdio.h>")
# nanobind keeps these between two runs of CMake, of which each may be for another Python.
unset(NB_SUFFIX CACHE)
unset(NB_SUFFIX_S CACHE)
unset(NB_ABI CACHE)
