# capstan_add_programs([TOWERS file ...] [OPTIMIZERS file ...])   the programs chief, ps, worker and capstan, which know the
#     towers and optimizers of these files beside Capstan's own. Each file registers what it has (TowerRegistration in
#     capstan/model/tower.h, OptimizerRegistration in capstan/optim/optimizer_description.h).
#
# For Capstan itself, and installed with it for all who find_package(Capstan).
function(capstan_add_programs)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "TOWERS;OPTIMIZERS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "capstan_add_programs: expected TOWERS or OPTIMIZERS before ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  # As objects, which are linked whole: of a library the linker leaves out what nobody calls, as registrations are.
  if(ARG_TOWERS)
    add_library(capstan_own_towers OBJECT ${ARG_TOWERS})
    target_link_libraries(capstan_own_towers PRIVATE Capstan::model)
  endif()
  if(ARG_OPTIMIZERS)
    add_library(capstan_own_optimizers OBJECT ${ARG_OPTIMIZERS})
    target_link_libraries(capstan_own_optimizers PRIVATE Capstan::optim)
  endif()
  foreach(program chief ps worker capstan)
    add_executable(${program})
    target_link_libraries(${program} PRIVATE Capstan::${program}_main)
    if(ARG_OPTIMIZERS)
      target_link_libraries(${program} PRIVATE capstan_own_optimizers)
    endif()
    if(ARG_TOWERS AND NOT program STREQUAL ps)  # A shard knows of no tower.
      target_link_libraries(${program} PRIVATE capstan_own_towers)
    endif()
  endforeach()
endfunction()

# capstan_install_programs()   installs what capstan_add_programs has made: `capstan` for people into bin, and those that it
#     starts into libexec/capstan, where nobody's PATH leads: the system has a `ps` of its own.
function(capstan_install_programs)
  include(GNUInstallDirs)
  install(TARGETS capstan COMPONENT programs)
  install(TARGETS chief ps worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/capstan COMPONENT programs)
endfunction()
