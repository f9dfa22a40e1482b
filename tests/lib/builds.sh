# The options of the builds that tests/run and tests/fuzz/run share. Must be sourced.

# Up to sixteen files of a target are compiled as one (cmake/targets.cmake), so each build takes a third of the time.
readonly unity=(-DCAPSTAN_UNITY=ON)
readonly clang=("${unity[@]}" -DCMAKE_CXX_COMPILER=clang++-14 -DCAPSTAN_BUILD_BENCHMARKS=OFF)
readonly clang_asan=("${clang[@]}" -DCAPSTAN_SANITIZE=address,undefined -DCAPSTAN_FUZZ=ON)
