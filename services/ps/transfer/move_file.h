// The files in which a partition moves to another shard are numbered: 0 is the copy, and each file
// after it contains what has changed since the file before.
#ifndef CAPSTAN_PS_TRANSFER_MOVE_FILE_H_
#define CAPSTAN_PS_TRANSFER_MOVE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/ids.h"

namespace capstan::ps {

// Returns the name by which the next file refers to this one, as a delta of a checkpoint refers to
// its parent: "move-1-17-2".
inline std::string MoveFileName(ViewEpoch move, uint32_t number) {
  return absl::StrCat("move-", move.term, "-", move.n, "-", number);
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_MOVE_FILE_H_
