// The state of a table as of one moment (the mark), which is copied piece by piece while the table
// changes.
#ifndef CAPSTAN_STORE_TABLE_MARK_H_
#define CAPSTAN_STORE_TABLE_MARK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/store/admission.h"
#include "capstan/store/before_images.h"

namespace capstan {

// Where a row of the marked state can be found.
struct RowPlace {
  uint64_t key = 0;
  uint32_t row = 0;  // A hint: rows may move.

  friend bool operator<(const RowPlace& a, const RowPlace& b) { return a.key < b.key; }
};

struct TableMark {
  explicit TableMark(size_t row_bytes) : images(row_bytes) {}

  bool changes_only = false;  // Only rows that changed since the last stored copy are copied.
  uint64_t rows = 0;          // How many rows the table had at the mark.
  uint64_t progress_examples = 0;
  std::vector<Candidate> candidates;  // Unordered.
  std::vector<uint64_t> erased;  // changes_only: keys erased since the last stored copy. Unordered.

  BeforeImages images;
  bool begun = false;     // Rows have been copied.
  uint64_t done_key = 0;  // Rows up to this key have been copied, and need no image any more.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_TABLE_MARK_H_
