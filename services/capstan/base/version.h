// What this program was built from.
#ifndef CAPSTAN_BASE_VERSION_H_
#define CAPSTAN_BASE_VERSION_H_

#include <string>
#include <string_view>

namespace capstan {

std::string_view Version();  // "0.1.0"
std::string_view
Revision();  // The commit, 12 hex digits, as of configuring; "unknown" outside git.
std::string_view Compiler();  // "GNU 12.2.0"

// What --version prints: "capstan ps 0.1.0 (3f9c2a1b77d0, GNU 12.2.0)".
std::string VersionLine(std::string_view program);

}  // namespace capstan

#endif  // CAPSTAN_BASE_VERSION_H_
