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

// Returns true if `path`, which must match `pattern`, has a component that begins with `_` or `.`
// and that the pattern matched with a leading `*` or `?`. Other programs leave files with such
// names beside the data, which are not data: `_SUCCESS`, `_temporary/`, `.part-0.crc`. A pattern
// that itself specifies the first character (`_part*`, `[_a-z]*`) does match such names.
bool IsHidden(std::string_view pattern, std::string_view path);

// Returns the error that no `what`, such as "file", matches the pattern except for `hidden` ones.
absl::Status NothingMatches(std::string_view pattern, std::string_view what, size_t hidden);

// Returns the paths that match a pattern, sorted, without the hidden ones (IsHidden). If a file has
// the pattern as its name, with or without the escapes, the pattern matches only this file:
// "x[1].csv" does not match "x1.csv" if there is an "x[1].csv". A name that is not a pattern is
// returned as it is, whether it exists or not. NOT_FOUND: nothing matches, or only hidden files do.
// Other errors name a folder that cannot be listed, so that its files are not silently omitted.
absl::StatusOr<std::vector<std::string>> MatchingPaths(const std::string& pattern);

}  // namespace capstan

#endif  // CAPSTAN_BASE_GLOB_PATTERN_H_
