# Serial HDF5 as a part of a library, for machines without HDF5: the target tailrace_static_hdf5, where its archive is installed.
pkg_check_modules(HDF5_SERIAL IMPORTED_TARGET hdf5-serial)
if(NOT HDF5_SERIAL_FOUND)
    pkg_check_modules(HDF5_SERIAL IMPORTED_TARGET hdf5)
endif()
find_library(HDF5_ARCHIVE libhdf5.a HINTS ${HDF5_SERIAL_LIBRARY_DIRS})
if(HDF5_SERIAL_FOUND AND HDF5_ARCHIVE)
    # Debian compiles archives for programs: their code takes the addresses of stdin, stdout and stderr as constants, and the linker
    # refuses that in a library. Under other names they are variables of our own (bindings/python/standard_streams.c).
    set(redefined)
    foreach(stream IN ITEMS stdin stdout stderr)
        list(APPEND redefined --redefine-sym ${stream}=hdf5_${stream})
    endforeach()
    set(archive "${PROJECT_BINARY_DIR}/lib/libhdf5_in_library.a")
    add_custom_command(
        OUTPUT "${archive}"
        COMMAND "${CMAKE_OBJCOPY}" ${redefined} "${HDF5_ARCHIVE}" "${archive}"
        DEPENDS "${HDF5_ARCHIVE}"
        VERBATIM
    )
    add_custom_target(tailrace_hdf5_archive DEPENDS "${archive}")
    add_library(tailrace_static_hdf5 INTERFACE)
    add_dependencies(tailrace_static_hdf5 tailrace_hdf5_archive)
    target_include_directories(tailrace_static_hdf5 SYSTEM INTERFACE ${HDF5_SERIAL_INCLUDE_DIRS})
    target_link_libraries(tailrace_static_hdf5 INTERFACE "${archive}")
    # What its filters need, as far as it was built with them.
    foreach(name IN ITEMS sz aec z)
        find_library(HDF5_${name}_ARCHIVE lib${name}.a)
        if(HDF5_${name}_ARCHIVE)
            target_link_libraries(tailrace_static_hdf5 INTERFACE "${HDF5_${name}_ARCHIVE}")
        endif()
    endforeach()
    target_link_libraries(tailrace_static_hdf5 INTERFACE m ${CMAKE_DL_LIBS} Threads::Threads)
endif()
