// What a fuzz target defines. fuzz_entry.cc makes a libFuzzer program of it; without libFuzzer
// replay.cc makes one that runs it on files, so that every build tests what was ever found.
#ifndef CAPSTAN_TESTS_FUZZ_FUZZ_H_
#define CAPSTAN_TESTS_FUZZ_FUZZ_H_

#include <string_view>

// Does with the input what the process does with such bytes from outside, and CHECKs what must hold
// whatever they are.
void Fuzz(std::string_view input);

#endif  // CAPSTAN_TESTS_FUZZ_FUZZ_H_
