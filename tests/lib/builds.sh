# The builds that tests/run and tests/fuzz/run share. To be sourced.

# That each file includes what it needs is seen by GCC's build.
readonly clang=(-DCMAKE_CXX_COMPILER=clang++-14 -DCAPSTAN_BUILD_BENCHMARKS=OFF -DCAPSTAN_UNITY=ON)
readonly clang_asan=("${clang[@]}" -DCAPSTAN_SANITIZE=address,undefined -DCAPSTAN_FUZZ=ON)
