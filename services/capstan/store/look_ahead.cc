#include "capstan/store/look_ahead.h"

#include "capstan/base/prefetch.h"

namespace capstan {
namespace {

// What is asked for together stays in a part of the second-level cache until it is used.
constexpr size_t kKeysTogether = 128;

}  // namespace

size_t AskAhead(absl::Span<const WantedRows> wanted, size_t begin, RowUse use) {
  size_t end = begin + 1;
  size_t keys = wanted[begin].keys.size();
  for (; end < wanted.size(); ++end) {
    keys += wanted[end].keys.size();
    if (keys > kKeysTogether) break;
  }
  if (end - begin == 1) return end;  // A table looks ahead among its own keys.
  // Each step reads what the one before has asked for.
  const absl::Span<const WantedRows> together = wanted.subspan(begin, end - begin);
  for (const WantedRows& rows : together) Prefetch(rows.table, sizeof(Table));
  for (const WantedRows& rows : together) rows.table->AskForIndex(rows.keys, use);
  for (const WantedRows& rows : together) rows.table->AskForRows(rows.keys, use);
  return end;
}

}  // namespace capstan
