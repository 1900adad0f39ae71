# Libraries that we use; each is a Debian package of apt.txt.
find_package(PkgConfig REQUIRED)
if(TAILRACE_MPI)
    enable_language(Fortran)
    find_package(MPI REQUIRED COMPONENTS C Fortran)
    include(TailraceMpi)
endif()
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
if(SKBUILD)
    # A wheel may be installed where these are not: it takes them along. As an archive zstd would be in it three times.
    foreach(library IN ITEMS XXHASH:xxhash DEFLATE:deflate UTF8PROC:utf8proc)
        string(REPLACE ":" ";" library "${library}")
        list(GET library 0 target)
        list(GET library 1 name)
        find_library(${target}_ARCHIVE lib${name}.a HINTS ${${target}_LIBRARY_DIRS})
    endforeach()
    # Debian's archive of xxhash has no functions that choose by processor. Then the shared library goes along.
    if(XXHASH_ARCHIVE)
        include(CheckCXXSourceCompiles)
        set(CMAKE_REQUIRED_LIBRARIES "${XXHASH_ARCHIVE}")
        check_cxx_source_compiles(
            "#include <xxh_x86dispatch.h>\nint main() { return static_cast<int>(XXH3_64bits_dispatch(\"\", 0)); }"
            XXHASH_ARCHIVE_CHOOSES_BY_PROCESSOR
        )
        unset(CMAKE_REQUIRED_LIBRARIES)
        if(NOT XXHASH_ARCHIVE_CHOOSES_BY_PROCESSOR)
            unset(XXHASH_ARCHIVE CACHE)
        endif()
    endif()
    foreach(target IN ITEMS XXHASH DEFLATE ZSTD UTF8PROC)
        if(${target}_ARCHIVE)
            set_target_properties(PkgConfig::${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${${target}_ARCHIVE}")
        else()
            list(GET ${target}_LINK_LIBRARIES 0 shared)
            file(REAL_PATH "${shared}" shared)
            string(REGEX MATCH "[^/]+\\.so\\.[0-9]+" soname "${shared}")
            install(FILES "${shared}" DESTINATION tailrace/lib RENAME "${soname}")
        endif()
    endforeach()
endif()

# toml++ as headers only: Debian's pkg-config file would link the library.
add_library(tailrace_toml INTERFACE)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
target_include_directories(tailrace_toml SYSTEM INTERFACE "${TOMLPLUSPLUS_INCLUDE_DIR}")
target_compile_definitions(tailrace_toml INTERFACE TOML_HEADER_ONLY=1 TOML_ENABLE_WINDOWS_COMPAT=0)

# HDF5 by name, as several builds of it may be installed. Each file is opened by one process, so the serial build serves any MPI;
# under Open MPI it is the parallel one, which the benches' peers share. hdf5_hl has the dimension scales.
if(TAILRACE_MPI)
    pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET ${TAILRACE_HDF5})
    find_library(HDF5_HL_LIBRARY hdf5_hl REQUIRED HINTS ${HDF5_LIBRARY_DIRS} NO_DEFAULT_PATH)
    add_library(tailrace_hdf5 INTERFACE)
    target_link_libraries(tailrace_hdf5 INTERFACE "${HDF5_HL_LIBRARY}" PkgConfig::HDF5 MPI::MPI_C)
endif()
if(TAILRACE_PYTHON)
    include(TailraceStaticHdf5)
endif()

if(TAILRACE_TESTS AND TAILRACE_UNIT_TESTS)
    find_package(GTest REQUIRED)
endif()

if(TAILRACE_PYTHON)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
    if(NOT nanobind_DIR)
        execute_process(
            COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
            OUTPUT_VARIABLE nanobind_DIR
            OUTPUT_STRIP_TRAILING_WHITESPACE
            RESULT_VARIABLE nanobind_missing
            ERROR_QUIET
        )
        if(nanobind_missing)
            message(FATAL_ERROR "nanobind is not in ${Python_EXECUTABLE}: run `make setup`, or pass -DTAILRACE_PYTHON=OFF")
        endif()
    endif()
    find_package(nanobind CONFIG REQUIRED PATHS "${nanobind_DIR}" NO_DEFAULT_PATH)
endif()
