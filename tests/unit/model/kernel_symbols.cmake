# The kernels compiled for a wide instruction set must define no function that another file could get instead of
# its own: no weak symbol outside of their own copy of Eigen. Called with NM, OBJECTS (joined by commas).
string(REPLACE "," ";" objects "${OBJECTS}")
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} --demangle --defined-only ${object}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" weak "${symbols}")
  list(FILTER weak EXCLUDE REGEX "Eigen(Baseline|Avx2|Avx512)::|DW\\.ref\\.")
  if(weak)
    message(FATAL_ERROR "${object} leaks ${weak}")
  endif()
  message("${object}: no symbol leaks")
endforeach()
