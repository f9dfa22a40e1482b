// The source from which this program was built.
#ifndef CAPSTAN_BASE_VERSION_H_
#define CAPSTAN_BASE_VERSION_H_

#include <string>
#include <string_view>

namespace capstan {

std::string_view Version();  // "0.1.0"
// The commit, 12 hex digits, when CMake was configured; "unknown" outside git.
std::string_view Revision();
std::string_view Compiler();  // "GNU 12.2.0"

// Returns what --version prints: "capstan ps 0.1.0 (3f9c2a1b77d0, GNU 12.2.0)".
std::string VersionLine(std::string_view program);

}  // namespace capstan

#endif  // CAPSTAN_BASE_VERSION_H_
