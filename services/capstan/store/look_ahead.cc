#include "capstan/store/look_ahead.h"

#include "capstan/base/prefetch.h"

namespace capstan {
namespace {

// The rows of this many keys fit into a part of the second-level cache until they are used.
constexpr size_t kKeysTogether = 128;

}  // namespace

size_t AskAhead(absl::Span<const WantedRows> wanted, size_t begin, RowUse use) {
  size_t end = begin + 1;
  size_t keys = wanted[begin].keys.size();
  for (; end < wanted.size(); ++end) {
    keys += wanted[end].keys.size();
    if (keys > kKeysTogether) break;
  }
  if (end - begin == 1) return end;  // A single table prefetches among its own keys.
  // Each step reads what the previous step has prefetched.
  const absl::Span<const WantedRows> together = wanted.subspan(begin, end - begin);
  for (const WantedRows& rows : together) Prefetch(rows.table, sizeof(Table));
  for (const WantedRows& rows : together) rows.table->AskForIndex(rows.keys, use);
  for (const WantedRows& rows : together) rows.table->AskForRows(rows.keys, use);
  return end;
}

}  // namespace capstan
