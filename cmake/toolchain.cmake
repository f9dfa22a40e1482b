# Language level, warnings, hardening, sanitizers, ccache and the linker, for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# No debug information by default: it doubles the time of a cold build; -DCMAKE_CXX_FLAGS=-g brings it back.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2")
if(CAPSTAN_SANITIZE)
  # Instrumented code compiles far faster so, and runs about as fast.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1")
endif()

# Every x86-64 server of the last decade has these; wider SIMD is chosen at run time
# (capstan/optim, capstan/model/kernels).
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=x86-64-v2)
endif()

# Options structs are filled by name, and what is not named keeps its default.
add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers)
add_compile_options(-fstack-protector-strong -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)
endif()
if(CAPSTAN_SANITIZE)
  add_compile_options(-fsanitize=${CAPSTAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${CAPSTAN_SANITIZE})
else()
  add_compile_definitions(_FORTIFY_SOURCE=2)
endif()
add_link_options(-Wl,-z,relro,-z,now)

# Paths are told to ccache relative to the project, so that another clone or build folder finds what
# this one compiled.
find_program(CAPSTAN_CCACHE ccache)
if(CAPSTAN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${CAPSTAN_CCACHE})
endif()
find_program(CAPSTAN_MOLD mold)
if(CAPSTAN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
