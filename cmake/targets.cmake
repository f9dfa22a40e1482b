# capstan_library(NAME HDRS ... SRCS ... DEPS ...)   a library; others depend on capstan::NAME
# capstan_binary(NAME SRCS ... DEPS ...)             a program, put into bin/
# capstan_test(NAME SRCS ... DEPS ... LABELS ...)    a GoogleTest program; ctest sees each of its tests,
#                                                    and tests_<label> builds all of a label
# capstan_benchmark(NAME SRCS ... DEPS ...)          a Google Benchmark program, put into bin/

function(capstan_library name)
  cmake_parse_arguments(ARG "" "" "HDRS;SRCS;DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(capstan_${name} STATIC ${ARG_SRCS} ${ARG_HDRS})
    set(scope PUBLIC)
  else()
    add_library(capstan_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(capstan::${name} ALIAS capstan_${name})
  target_include_directories(capstan_${name} ${scope} ${PROJECT_SOURCE_DIR}/services)
  target_link_libraries(capstan_${name} ${scope} ${ARG_DEPS})
endfunction()

function(capstan_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

function(capstan_test name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/services ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # A program with sanitizers on a busy machine takes seconds to list its tests. Values would be
  # bytes and addresses, other ones at each run.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${name}/"
    NO_PRETTY_VALUES PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
  if(CAPSTAN_SANITIZE)
    # What is optimised is the code under test; its tests compile in half the time without.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  foreach(label ${ARG_LABELS})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()

function(capstan_benchmark name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  if(NOT CAPSTAN_BUILD_BENCHMARKS)
    return()
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/services ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} benchmark::benchmark)
endfunction()

# Adds every folder below the present one that holds a CMakeLists.txt.
function(capstan_add_folders)
  file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(list ${lists})
    get_filename_component(folder ${list} DIRECTORY)
    add_subdirectory(${folder})
  endforeach()
endfunction()
