// "did you mean": names that were perhaps meant.
#ifndef CAPSTAN_CONFIG_SPELLING_H_
#define CAPSTAN_CONFIG_SPELLING_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace capstan {

// The one of `names` that `word` is a slip away from, or two if it is long; empty: none.
absl::string_view Nearest(absl::string_view word, std::span<const absl::string_view> names);

// Letters to insert, delete, replace or swap to make one of the other.
int EditDistance(absl::string_view a, absl::string_view b);

// `text` in quotes for a message, cut after `limit` bytes.
std::string Shown(absl::string_view text, size_t limit = 60);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_SPELLING_H_
