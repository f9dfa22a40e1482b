// Rows of several tables whose memory is asked for before the first of them is looked up. Of many
// tables a partition's share of a request holds but a few keys each: one table alone has nothing to
// overlap its cache misses with. What is asked for changes no result.
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

// Asks for what the use of wanted[begin] and of some behind it will read. Returns where these end,
// which is behind `begin`. REQUIRES: begin < wanted.size(), and nobody changes the tables
// meanwhile.
size_t AskAhead(absl::Span<const WantedRows> wanted, size_t begin, RowUse use);

// Calls visit(i) for each of `wanted`, in order; what each reads has been asked for by then.
template <typename Visit>
void VisitAhead(absl::Span<const WantedRows> wanted, RowUse use, const Visit& visit) {
  for (size_t begin = 0; begin < wanted.size();) {
    const size_t end = AskAhead(wanted, begin, use);
    for (; begin < end; ++begin) visit(begin);
  }
}

}  // namespace capstan

#endif  // CAPSTAN_STORE_LOOK_AHEAD_H_
