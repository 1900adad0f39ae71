# Test programs, all in build/tests/; tests/unit/test_unit.py and the tests of tests/ run them.
set(TAILRACE_TEST_DIR "${PROJECT_BINARY_DIR}/tests")

# tests/unit/LAYER/*.cpp become one GoogleTest program unit_LAYER.
function(tailrace_unit_tests)
    foreach(layer IN LISTS ARGV)
        file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/${layer}/*.cpp")
        if(sources AND TARGET tailrace_${layer})
            add_executable(unit_${layer} ${sources})
            target_link_libraries(unit_${layer} PRIVATE tailrace_${layer} GTest::gtest GTest::gtest_main)
            set_target_properties(unit_${layer} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${TAILRACE_TEST_DIR}")
        endif()
    endforeach()
endfunction()

# One MPI program of the C contract: tailrace_mpi_program(NAME source...). Fortran sources get the Fortran module.
function(tailrace_mpi_program name)
    if(TARGET ${name})
        message(FATAL_ERROR "two programs are called ${name} (${ARGN}): rename one of the sources")
    endif()
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE tailrace)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${TAILRACE_TEST_DIR}")
    if("${ARGN}" MATCHES "\\.f90")
        target_link_libraries(${name} PRIVATE tailrace_fortran MPI::MPI_Fortran)
    endif()
endfunction()

# tests/mpi/*.{c,cpp,f90} are one program each, unless the folder says otherwise in a CMakeLists.txt of its own.
function(tailrace_mpi_tests)
    if(EXISTS "${PROJECT_SOURCE_DIR}/tests/mpi/CMakeLists.txt")
        tailrace_subdirectory(tests/mpi)
        return()
    endif()
    set(folder "${PROJECT_SOURCE_DIR}/tests/mpi")
    file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.c" "${folder}/*.cpp" "${folder}/*.f90")
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM name)
        if(source MATCHES "\\.f90$" AND NOT TARGET tailrace_fortran)
            message(STATUS "${name}: skipped, the Fortran module is not built")
        else()
            tailrace_mpi_program(${name} "${source}")
        endif()
    endforeach()
endfunction()

# build/bin/tailrace: the command line from the checkout, without installing anything.
if(NOT TAILRACE_SANITIZE AND NOT SKBUILD)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/bin/tailrace" @ONLY CONTENT [=[
#!/bin/sh
# The command line of this checkout.
PYTHONPATH="@PROJECT_SOURCE_DIR@/python${PYTHONPATH:+:$PYTHONPATH}" exec "@Python_EXECUTABLE@" -m tailrace "$@"
]=])
    file(CHMOD "${PROJECT_BINARY_DIR}/bin/tailrace" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                                WORLD_READ WORLD_EXECUTE)
endif()
