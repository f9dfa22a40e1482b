# capstan_library(NAME HDRS ... SRCS ... DEPS ...)   a library; others depend on capstan::NAME
# capstan_program(NAME SRCS ... DEPS ...)            the main() of a program that capstan_add_programs makes
# capstan_binary(NAME SRCS ... DEPS ...)             any other program, put into bin/
# capstan_test(NAME SRCS ... DEPS ... LABELS ... [COST seconds])
#                                                    a GoogleTest program; ctest sees each of its tests, begins with those
#                                                    that take longest, and tests_<label> builds all of a label
# capstan_benchmark(NAME SRCS ... DEPS ...)          a Google Benchmark program, put into bin/
#
# With CAPSTAN_UNITY up to sixteen files of a target are compiled as one, so that they read their headers once. CMake's
# own UNITY_BUILD names them by absolute paths, which no other clone would find in ccache.

# Runs at the end of a folder, when all is known of its files. A file with options of its own, or with
# SKIP_UNITY_BUILD_INCLUSION, is compiled by itself, and so is one that the build makes. Files with CAPSTAN_SIMD, each of which
# Highway includes once more for every instruction set, are included together instead, all of them for one set after the other:
# each names itself to Highway, so the file of them all does so again at its end.
function(capstan_unite name)
  get_target_property(files ${name} SOURCES)
  set(sources "")
  set(united "")
  set(simd "")
  foreach(file ${files})
    get_source_file_property(options ${file} COMPILE_OPTIONS)
    get_source_file_property(skipped ${file} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(for_each_set ${file} CAPSTAN_SIMD)
    cmake_path(ABSOLUTE_PATH file OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} made)
    if(options OR skipped OR made OR NOT file MATCHES "\\.cc$")
      list(APPEND sources ${file})
    else()
      file(RELATIVE_PATH path ${CMAKE_CURRENT_BINARY_DIR} ${path})
      if(for_each_set)
        list(APPEND simd "#include \"${path}\"\n")
      else()
        list(APPEND united "#include \"${path}\"\n")
      endif()
    endif()
  endforeach()
  if(simd)
    set(own_name "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${name}_simd.cc\"\n")
    list(JOIN simd "" text)
    set(unity ${CMAKE_CURRENT_BINARY_DIR}/${name}_simd.cc)
    file(CONFIGURE OUTPUT ${unity} CONTENT "${own_name}#include \"hwy/foreach_target.h\"\n${text}${own_name}" @ONLY)
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
    list(APPEND sources ${unity})
  endif()
  list(LENGTH united files)
  math(EXPR units "(${files} + 15) / 16")
  set(count 0)
  while(united)
    # As even as they go.
    list(LENGTH united rest)
    math(EXPR size "(${rest} + ${units} - ${count} - 1) / (${units} - ${count})")
    list(SUBLIST united 0 ${size} batch)
    list(REMOVE_ITEM united ${batch})
    list(JOIN batch "" text)
    set(unity ${CMAKE_CURRENT_BINARY_DIR}/${name}_unity_${count}.cc)
    file(CONFIGURE OUTPUT ${unity} CONTENT "${text}" @ONLY)
    list(APPEND sources ${unity})
    math(EXPR count "${count} + 1")
  endwhile()
  set_target_properties(${name} PROPERTIES SOURCES "${sources}")
endfunction()

function(capstan_unite_later name)
  if(CAPSTAN_UNITY)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL capstan_unite ${name})")
  endif()
endfunction()

function(capstan_library name)
  cmake_parse_arguments(ARG "" "" "HDRS;SRCS;DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(capstan_${name} STATIC ${ARG_SRCS} ${ARG_HDRS})
    capstan_unite_later(capstan_${name})
    set(scope PUBLIC)
  else()
    add_library(capstan_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(capstan::${name} ALIAS capstan_${name})
  add_library(Capstan::${name} ALIAS capstan_${name})  # As it is called where it is installed.
  target_include_directories(capstan_${name} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/services>)
  target_compile_features(capstan_${name} ${scope} cxx_std_20)
  target_link_libraries(capstan_${name} ${scope} ${ARG_DEPS})
endfunction()

function(capstan_program name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(capstan_${name}_main OBJECT ${ARG_SRCS})
  add_library(Capstan::${name}_main ALIAS capstan_${name}_main)
  target_link_libraries(capstan_${name}_main PUBLIC ${ARG_DEPS})
endfunction()

# Where a program has a folder lib beside its own, as in a wheel, it finds its libraries there, and these each other: RPATH,
# unlike RUNPATH, is theirs too.
function(capstan_find_libraries_beside name)
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
endfunction()

function(capstan_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  capstan_unite_later(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  capstan_find_libraries_beside(${name})
endfunction()

# The checks of _FORTIFY_SOURCE are made by the optimizer, and refused without it.
function(capstan_do_not_optimize name)
  target_compile_options(${name} PRIVATE -O0 -U_FORTIFY_SOURCE)
endfunction()

function(capstan_test name)
  cmake_parse_arguments(ARG "" "COST" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  capstan_unite_later(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/services ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} capstan::test_folder GTest::gmock_main)
  set(timeout 300)
  # What computes for minutes takes what the processes of other tests leave of the cores (tests/CMakeLists.txt), and waits for that.
  if("simulation" IN_LIST ARG_LABELS)
    set(timeout 1200)
    set_target_properties(${name} PROPERTIES CROSSCOMPILING_EMULATOR "nice;-n;10")
  endif()
  set(cost "")
  if(ARG_COST)
    set(cost COST ${ARG_COST})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # A program with sanitizers on a busy machine takes seconds to list its tests. Values would be
  # bytes and addresses, other ones at each run.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${name}/"
    NO_PRETTY_VALUES PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${timeout} ${cost})
  # What is optimised is the code under test; its tests compile in half the time without. The simulation runs for minutes, also
  # what its tests instantiate.
  if(CAPSTAN_SANITIZE OR NOT "simulation" IN_LIST ARG_LABELS)
    capstan_do_not_optimize(${name})
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
  capstan_unite_later(${name})
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
