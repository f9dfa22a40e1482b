// Patterns of the names of local files, with `*`, `?` and `[a-z]`, and paths in which these
// characters are escaped.
#ifndef CAPSTAN_BASE_GLOB_PATTERN_H_
#define CAPSTAN_BASE_GLOB_PATTERN_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

// A name with one of these characters is a pattern.
inline constexpr char kGlobCharacters[] = "*?[";

// Returns a pattern that matches only this path: "x[[]1]/t.csv" for "x[1]/t.csv".
std::string AsPattern(std::string_view path);

// Returns the path from which AsPattern made `pattern`. Leaves alone what AsPattern does not write.
std::string WithoutEscapes(std::string_view pattern);

// Returns whether `path`, which `pattern` matches name by name, has a name that begins with `_` or
// `.` and that the pattern found by a `*` or a `?` at its front. Other programs leave such names
// beside data and take them for no data: `_SUCCESS`, `_temporary/`, `.part-0.crc`. A pattern that
// says itself with what a name begins (`_part*`, `[_a-z]*`) means the names that it says.
bool IsHidden(std::string_view pattern, std::string_view path);

// Returns the error that no `what`, such as "file", matches the pattern, but for `hidden` of them.
absl::Status NothingMatches(std::string_view pattern, std::string_view what, size_t hidden);

// Returns the paths that a pattern means, sorted, but for those that are hidden (IsHidden). If a
// file has the pattern as its name, with or without the escapes, the pattern means only this file:
// "x[1].csv" does not mean "x1.csv" if there is an "x[1].csv". A name that is no pattern is
// returned as it is, whether it exists or not. NOT_FOUND: nothing matches, or only what is hidden.
// Other errors name a folder that cannot be listed, so that its files are not left out silently.
absl::StatusOr<std::vector<std::string>> MatchingPaths(const std::string& pattern);

}  // namespace capstan

#endif  // CAPSTAN_BASE_GLOB_PATTERN_H_
