// "did you mean": suggests names for misspelt ones.
#ifndef CAPSTAN_CONFIG_SPELLING_H_
#define CAPSTAN_CONFIG_SPELLING_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace capstan {

// Returns the element of `names` that is one edit away from `word`, or two if `word` is long; empty
// if there is none.
absl::string_view Nearest(absl::string_view word, std::span<const absl::string_view> names);

// Returns how many letters must be inserted, deleted, replaced or swapped to turn one text into the
// other.
int EditDistance(absl::string_view a, absl::string_view b);

// Returns `text` in quotes for a message, cut after at most `limit` bytes, but not within a
// character.
std::string Shown(absl::string_view text, size_t limit = 60);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_SPELLING_H_
