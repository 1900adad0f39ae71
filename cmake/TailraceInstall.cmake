# Headers, library, Fortran module, and the files by which CMake and pkg-config find them.
if(SKBUILD)
    if(TARGET _journal)
        install(TARGETS _journal LIBRARY DESTINATION tailrace)
    endif()
    # With the commands that they describe: only the Python package has those.
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endif()
if(NOT TARGET tailrace)
    return()
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tailrace" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
set(exported tailrace)
if(TARGET tailrace_fortran)
    list(APPEND exported tailrace_fortran)
    install(
        DIRECTORY "${CMAKE_Fortran_MODULE_DIRECTORY}/"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tailrace"
        FILES_MATCHING
        PATTERN "tailrace*.mod"
    )
endif()
install(
    TARGETS ${exported}
    EXPORT tailraceTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
)
include(CMakePackageConfigHelpers)
set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tailrace")
set(generated "${PROJECT_BINARY_DIR}/cmake")
install(EXPORT tailraceTargets NAMESPACE tailrace:: DESTINATION "${config_dir}")
configure_package_config_file(cmake/tailraceConfig.cmake.in "${generated}/tailraceConfig.cmake" INSTALL_DESTINATION "${config_dir}")
write_basic_package_version_file("${generated}/tailraceConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${generated}/tailraceConfig.cmake" "${generated}/tailraceConfigVersion.cmake" DESTINATION "${config_dir}")

file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(library IN LISTS exported)
    configure_file("cmake/${library}.pc.in" "${generated}/${library}.pc" @ONLY)
    install(FILES "${generated}/${library}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
