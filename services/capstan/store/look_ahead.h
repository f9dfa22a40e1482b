// Prefetches rows of several tables before the first of them is looked up. If there are many
// tables, a partition's share of a request has only a few keys of each: too few to overlap cache
// misses within one table. Prefetching does not change results.
#ifndef CAPSTAN_STORE_LOOK_AHEAD_H_
#define CAPSTAN_STORE_LOOK_AHEAD_H_

#include <cstddef>

#include "absl/types/span.h"
#include "capstan/store/packed.h"
#include "capstan/store/table.h"

namespace capstan {

// Keys that will be looked up in one table.
struct WantedRows {
  const Table* table = nullptr;
  PackedKeys keys;
};

// Prefetches what the use of wanted[begin] and of some entries after it will read. Returns the
// index after the last of these, which is greater than `begin`. REQUIRES: begin < wanted.size(),
// and the tables do not change meanwhile.
size_t AskAhead(absl::Span<const WantedRows> wanted, size_t begin, RowUse use);

// Calls visit(i) for each entry of `wanted`, in order, after prefetching what it reads.
template <typename Visit>
void VisitAhead(absl::Span<const WantedRows> wanted, RowUse use, const Visit& visit) {
  for (size_t begin = 0; begin < wanted.size();) {
    const size_t end = AskAhead(wanted, begin, use);
    for (; begin < end; ++begin) visit(begin);
  }
}

}  // namespace capstan

#endif  // CAPSTAN_STORE_LOOK_AHEAD_H_
