# What a builder may choose, and how everything is compiled.
option(TAILRACE_TESTS "Build tests, kernels and benches" ${PROJECT_IS_TOP_LEVEL})
option(TAILRACE_UNIT_TESTS "With the tests, also the unit tests of the layers (needs GoogleTest)" ON)
option(TAILRACE_PYTHON "Build the Python extension tailrace._core (needs nanobind)" ON)
set(mpi_is_there ON)
if(SKBUILD AND NOT DEFINED TAILRACE_MPI)
    # A wheel has the library for MPI where an MPI is installed.
    include(CheckLanguage)
    check_language(Fortran)
    set(mpi_is_there "${CMAKE_Fortran_COMPILER}")
    if(CMAKE_Fortran_COMPILER)
        find_package(MPI QUIET COMPONENTS C)
        set(mpi_is_there "${MPI_C_FOUND}")
    endif()
endif()
option(TAILRACE_MPI "Build the library libtailrace, which needs an MPI; OFF: the Python package for one process" ${mpi_is_there})
option(TAILRACE_TRACER "Build the library that records the calls of programs (Linux on x86-64)" ON)
option(
    TAILRACE_SANITIZE
    "Under the address and undefined sanitizers, only the layers without MPI and their unit tests; with TAILRACE_MPI=OFF the \
Python extension for one process"
    OFF
)
if(TAILRACE_SANITIZE AND TAILRACE_MPI)
    set(TAILRACE_PYTHON OFF)
endif()
# Where the extensions are put, when it is not a wheel. Python loads a sanitized one only if it is told so.
set(TAILRACE_PYTHON_FOLDER "${PROJECT_SOURCE_DIR}/python/tailrace")
if(TAILRACE_SANITIZE)
    set(TAILRACE_PYTHON_FOLDER "${PROJECT_BINARY_DIR}/python")
endif()
option(
    TAILRACE_UNITY
    "Compile several sources of a layer together, for faster whole builds; OFF where sources are changed often"
    ON
)
option(TAILRACE_WERROR "Treat warnings as errors" OFF)
set(TAILRACE_ARCH "x86-64-v2" CACHE STRING "Value of -march=; empty for the compiler's own")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

# In a Python wheel all that is installed goes inside the package, so that `tailrace/lib` is found beside the extension; but for the
# manual pages, which lie where `man` looks beside the command.
if(SKBUILD)
    set(CMAKE_INSTALL_LIBDIR tailrace/lib)
    set(CMAKE_INSTALL_INCLUDEDIR tailrace/include)
    set(CMAKE_INSTALL_MANDIR "${SKBUILD_DATA_DIR}/share/man")
endif()
set(CMAKE_INSTALL_RPATH "$ORIGIN")
if(SKBUILD)
    list(APPEND CMAKE_INSTALL_RPATH "$ORIGIN/lib" "$ORIGIN/../lib") # of the package itself, and of its folders
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_Fortran_MODULE_DIRECTORY "${PROJECT_BINARY_DIR}/include")

include(CheckCXXCompilerFlag)
if(TAILRACE_ARCH)
    check_cxx_compiler_flag("-march=${TAILRACE_ARCH}" TAILRACE_ARCH_KNOWN)
    if(TAILRACE_ARCH_KNOWN)
        add_compile_options("-march=${TAILRACE_ARCH}")
    endif()
endif()

# OMPI_SKIP_MPICXX: the C++ bindings that MPI has dropped; we use the C ones.
add_compile_definitions($<$<COMPILE_LANGUAGE:C,CXX>:_FILE_OFFSET_BITS=64> $<$<COMPILE_LANGUAGE:CXX>:OMPI_SKIP_MPICXX>)
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow=local>")
if(TAILRACE_UNITY)
    # It speaks of sources that are included, as here all are.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(TAILRACE_WERROR)
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
if(TAILRACE_SANITIZE)
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
endif()
