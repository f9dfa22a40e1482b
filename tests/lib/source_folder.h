// Finds the project's files, for tests that read golden data, examples or docs.
#ifndef CAPSTAN_TESTS_LIB_SOURCE_FOLDER_H_
#define CAPSTAN_TESTS_LIB_SOURCE_FOLDER_H_

#include <string>

namespace capstan {

// Returns the absolute path of the folder that holds services/ and tests/. The path is compiled
// into a file of its own, so that no other object file depends on where a clone lies, and ccache
// serves all clones.
std::string SourceFolder();

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_SOURCE_FOLDER_H_
