#include "capstan/config/spelling.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "capstan/base/quote.h"

namespace capstan {
namespace {

// Longer words are not compared: they are not misspelt names, and their table would be large.
constexpr size_t kMaxWord = 60;

}  // namespace

absl::string_view Nearest(absl::string_view word, std::span<const absl::string_view> names) {
  if (word.size() > kMaxWord) return {};
  int best = word.size() < 5 ? 2 : 3;
  absl::string_view nearest;
  for (const absl::string_view name : names) {
    const int distance = EditDistance(word, name);
    if (distance >= best) continue;
    best = distance;
    nearest = name;
  }
  return nearest;
}

int EditDistance(absl::string_view a, absl::string_view b) {
  // Rows of the usual table: distances of the prefixes of `a` from those of `b`.
  std::vector<int> two_ago, before(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) before[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = before[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_ago[j - 2] + 1);
    }
    two_ago = before;
    before = row;
  }
  return before.back();
}

std::string Shown(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return Quoted(std::string(text));
  const std::string_view whole(text.data(), text.size());
  return Quoted(FirstBytes(whole, limit)) + "...";
}

}  // namespace capstan
