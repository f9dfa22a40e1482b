// The files of a partition on its way to another shard, by number: 0 is the copy; each one after it
// holds what has changed since the one before.
#ifndef CAPSTAN_PS_SHARD_MOVE_FILE_H_
#define CAPSTAN_PS_SHARD_MOVE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/ids.h"

namespace capstan::ps {

// What the file is called by the one after it, as a checkpoint is by its deltas: "move-1-17-2".
inline std::string MoveFileName(ViewEpoch move, uint32_t number) {
  return absl::StrCat("move-", move.term, "-", move.n, "-", number);
}

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_MOVE_FILE_H_
