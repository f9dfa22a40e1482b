// Names of local files with `*`, `?` and `[a-z]` in them, and paths in which these are no patterns.
#ifndef CAPSTAN_BASE_GLOB_PATTERN_H_
#define CAPSTAN_BASE_GLOB_PATTERN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// A name with one of them is a pattern.
inline constexpr char kGlobCharacters[] = "*?[";

// A pattern that matches this path alone: "x[[]1]/t.csv" for "x[1]/t.csv".
std::string AsPattern(std::string_view path);

// The path of which AsPattern has made a pattern. What AsPattern does not write stays as it is.
std::string WithoutEscapes(std::string_view pattern);

// The paths that a pattern means, sorted. A file whose name it is, as it stands or without its
// escapes, is meant alone: "x[1].csv" is not "x1.csv" where there is an "x[1].csv". What is no
// pattern is returned as it is, whether it exists or not. NOT_FOUND: nothing matches; otherwise
// the folder is named that cannot be listed: its files are not left out without a word.
absl::StatusOr<std::vector<std::string>> MatchingPaths(const std::string& pattern);

}  // namespace capstan

#endif  // CAPSTAN_BASE_GLOB_PATTERN_H_
