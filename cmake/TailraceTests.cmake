# Test programs, all in build/tests/; tests/unit/test_unit.py and the tests of tests/ run them.
set(TAILRACE_TEST_DIR "${PROJECT_BINARY_DIR}/tests")

# tests/unit/LAYER/*.cpp become one GoogleTest program unit_LAYER.
function(tailrace_unit_tests)
    foreach(layer IN LISTS ARGV)
        file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/${layer}/*.cpp")
        if(sources AND TARGET tailrace_${layer})
            add_executable(unit_${layer} ${sources})
            target_link_libraries(unit_${layer} PRIVATE GTest::gtest GTest::gtest_main Threads::Threads)
            get_target_property(kind tailrace_${layer} TYPE)
            if(kind STREQUAL "SHARED_LIBRARY")
                # It would record the tests themselves, and shows hooks alone: of it, what headers have is tested here.
                target_include_directories(unit_${layer} PRIVATE "${PROJECT_SOURCE_DIR}/src")
            else()
                target_link_libraries(unit_${layer} PRIVATE tailrace_${layer})
            endif()
            target_compile_options(unit_${layer} PRIVATE -O0) # the tests alone; optimised, some take minutes to compile
            set_target_properties(
                unit_${layer}
                PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${TAILRACE_TEST_DIR}" UNITY_BUILD ${TAILRACE_UNITY} UNITY_BUILD_BATCH_SIZE 12
            )
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
    # tests/mpi/LAYER/*.cpp: programs of a layer itself.
    file(GLOB sources RELATIVE "${folder}" CONFIGURE_DEPENDS "${folder}/*/*.cpp")
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM name)
        cmake_path(GET source PARENT_PATH layer)
        tailrace_mpi_program(${name} "${folder}/${source}")
        target_link_libraries(${name} PRIVATE tailrace_${layer})
    endforeach()
endfunction()
