# A layer is a folder of src/ and a static library tailrace_NAME; sources are found, so that adding a file edits nothing here.

# tailrace_compile_together(TARGET): its sources, several at a time (TAILRACE_UNITY).
set(TAILRACE_SOURCES_TOGETHER 12)
function(tailrace_compile_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${TAILRACE_UNITY} UNITY_BUILD_BATCH_SIZE ${TAILRACE_SOURCES_TOGETHER})
endfunction()

# What a step does not wait for is compiled for size in a wheel.
set(TAILRACE_SMALL_LAYERS
    layout
    record
    view
    maintain
    forward
    capi
)

# tailrace_layer(NAME [OBJECT] [DEPENDS layer...] [LINK target...])
function(tailrace_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "OBJECT" "" "DEPENDS;LINK")
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
    set(kind STATIC)
    if(arg_OBJECT)
        set(kind OBJECT)
    endif()
    if(sources)
        add_library(tailrace_${name} ${kind} ${sources})
        tailrace_compile_together(tailrace_${name})
        if(SKBUILD AND name IN_LIST TAILRACE_SMALL_LAYERS)
            target_compile_options(tailrace_${name} PRIVATE -Os)
        endif()
        set(scope PUBLIC)
    else()
        add_library(tailrace_${name} INTERFACE)
        set(scope INTERFACE)
    endif()
    target_include_directories(tailrace_${name} ${scope} "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    list(TRANSFORM arg_DEPENDS PREPEND tailrace_)
    target_link_libraries(tailrace_${name} ${scope} ${arg_DEPENDS} ${arg_LINK} Threads::Threads)
endfunction()

# The library's version in its name. Not in a wheel, which has no links: each name of the library would be a copy of it.
function(tailrace_version target)
    if(NOT SKBUILD)
        set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
    endif()
endfunction()

# tailrace_library(NAME ...): the top layer as the shared library libtailrace.so; only the C contract's names leave it.
# Its objects are taken whole: nothing inside calls the contract's functions, so from an archive the linker would leave them out.
function(tailrace_library name)
    tailrace_layer(${name} OBJECT ${ARGN})
    get_target_property(kind tailrace_${name} TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")
        message(STATUS "src/${name}/ has no sources yet: no libtailrace, and nothing that needs it")
        return()
    endif()
    # The header has no export macro: the contract's names are visible, and the version script keeps all others in.
    set_target_properties(tailrace_${name} PROPERTIES CXX_VISIBILITY_PRESET default)
    set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
    add_library(tailrace SHARED $<TARGET_OBJECTS:tailrace_${name}>)
    add_library(tailrace::tailrace ALIAS tailrace)
    set_target_properties(tailrace PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS "${exports}")
    tailrace_version(tailrace)
    target_include_directories(
        tailrace
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    )
    target_link_libraries(tailrace PUBLIC MPI::MPI_C PRIVATE $<TARGET_PROPERTY:tailrace_${name},LINK_LIBRARIES>)
    target_link_options(tailrace PRIVATE "-Wl,--version-script=${exports}" -Wl,--no-undefined)
endfunction()

# tailrace_preloaded(NAME DEPENDS layer...): the layer and those that it uses as libtailrace-NAME.so, which goes into any program.
# So it brings no library of its own along, that of C++ neither; its objects are its own; it exports hooks alone.
function(tailrace_preloaded name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS")
    foreach(layer IN LISTS name arg_DEPENDS)
        file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp")
        list(APPEND sources ${found})
    endforeach()
    set(exports "${PROJECT_SOURCE_DIR}/cmake/preloaded.map")
    add_library(tailrace_${name} SHARED ${sources})
    set_target_properties(
        tailrace_${name}
        PROPERTIES OUTPUT_NAME tailrace-${name} LINKER_LANGUAGE C CXX_VISIBILITY_PRESET hidden LINK_DEPENDS "${exports}"
    )
    target_include_directories(tailrace_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_compile_options(
        tailrace_${name}
        PRIVATE
            -fno-exceptions
            -fno-rtti
            -fasynchronous-unwind-tables # exceptions of the program and the end of a thread pass through hooks
            -fno-threadsafe-statics
            -fno-stack-protector
            -ftls-model=initial-exec
            -U_FORTIFY_SOURCE
    )
    # The unwinder of call paths comes along as a part of the library, too.
    target_link_options(tailrace_${name} PRIVATE -static-libgcc -Wl,--exclude-libs,ALL)
    target_link_options(tailrace_${name} PRIVATE -Wl,--no-undefined -Wl,-z,now "-Wl,--version-script=${exports}")
    if(SKBUILD)
        install(TARGETS tailrace_${name} LIBRARY DESTINATION tailrace/lib)
    else()
        install(TARGETS tailrace_${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    endif()
endfunction()

# tailrace_program(NAME PROGRAM DEPENDS layer...): the layer's sources as a program, installed beside the command.
function(tailrace_program name program)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEPENDS")
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
    add_executable(${program} ${sources})
    list(TRANSFORM arg_DEPENDS PREPEND tailrace_)
    target_link_libraries(${program} PRIVATE ${arg_DEPENDS})
    if(SKBUILD)
        install(TARGETS ${program} RUNTIME DESTINATION tailrace/bin)
    else()
        install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    endif()
endfunction()

# The folder's own CMakeLists.txt, when it is there.
function(tailrace_subdirectory folder)
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    if(found)
        add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
    endif()
endfunction()
