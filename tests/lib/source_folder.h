// Where the project's files are, for tests that read golden data, examples or docs.
#ifndef CAPSTAN_TESTS_LIB_SOURCE_FOLDER_H_
#define CAPSTAN_TESTS_LIB_SOURCE_FOLDER_H_

#include <string>

namespace capstan {

// The absolute path of the folder that holds services/ and tests/. It is compiled into a file of
// its own, so that nothing else depends on where a clone lies and ccache finds it for each.
std::string SourceFolder();

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_SOURCE_FOLDER_H_
