# What `cmake --install` copies, by its components:
#   programs      the four programs
#   development   what find_package(Capstan) needs for towers and optimizers of one's own: libraries, headers, CMake files
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# The targets of Capstan that the four programs are made of.
function(capstan_targets_of_programs result)
  set(ahead capstan_chief_main capstan_ps_main capstan_worker_main capstan_capstan_main)
  set(targets "")
  while(ahead)
    list(POP_FRONT ahead target)
    string(REGEX REPLACE "^capstan::" "capstan_" target ${target})
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" target ${target})
    if(target MATCHES "^capstan_" AND NOT target IN_LIST targets)
      list(APPEND targets ${target})
      get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
      list(APPEND ahead ${links})
    endif()
  endwhile()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# What files for towers and optimizers include, and what that includes.
function(capstan_public_headers result)
  list(TRANSFORM ARGN PREPEND capstan/ OUTPUT_VARIABLE ahead)
  set(headers "")
  while(ahead)
    list(POP_FRONT ahead header)
    if(EXISTS ${PROJECT_SOURCE_DIR}/services/${header} AND NOT header IN_LIST headers)  # Others are generated.
      list(APPEND headers ${header})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS services/${header})
      file(STRINGS services/${header} lines REGEX "^#include \"capstan/")
      list(TRANSFORM lines REPLACE "^#include \"(.*)\"$" "\\1")
      list(APPEND ahead ${lines})
    endif()
  endwhile()
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

capstan_install_programs()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)

capstan_targets_of_programs(targets)
foreach(target ${targets})
  string(SUBSTRING ${target} 8 -1 name)  # Without "capstan_".
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS ${targets} EXPORT Capstan COMPONENT development
  OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}/capstan
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

capstan_public_headers(headers base/status.h model/dense_stack.h model/initializers.h model/tower.h
  optim/optimizer_description.h optim/settings.h optim/shaping.h optim/slot_optimizer.h)
foreach(header ${headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES services/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/generated/capstan DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.pb.h" PATTERN "*.grpc.pb.h" EXCLUDE)

# Whoever uses the package has to find what Capstan itself has found, save what only its tests and benchmarks need.
file(STRINGS cmake/dependencies.cmake lines REGEX "^(find_package|pkg_check_modules)\\(")
list(JOIN lines "\n" CAPSTAN_FIND_DEPENDENCIES)
string(REPLACE "find_package(" "find_dependency(" CAPSTAN_FIND_DEPENDENCIES "${CAPSTAN_FIND_DEPENDENCIES}")
string(REPLACE " REQUIRED" "" CAPSTAN_FIND_DEPENDENCIES "${CAPSTAN_FIND_DEPENDENCIES}")
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Capstan)
configure_file(cmake/CapstanConfig.cmake.in CapstanConfig.cmake @ONLY)
write_basic_package_version_file(CapstanConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(EXPORT Capstan FILE CapstanTargets.cmake NAMESPACE Capstan:: DESTINATION ${package} COMPONENT development)
install(FILES cmake/programs.cmake RENAME CapstanPrograms.cmake DESTINATION ${package} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/CapstanConfig.cmake ${PROJECT_BINARY_DIR}/CapstanConfigVersion.cmake
  DESTINATION ${package} COMPONENT development)
