// The checkpoints of a job, and which of them may go.
#ifndef CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_
#define CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/checkpoint.pb.h"

namespace capstan {

// One folder of the job's "checkpoints" folder that is named as a checkpoint is.
struct ListedCheckpoint {
  std::string id;
  // NOT_FOUND: it has no manifest, so it is no checkpoint; DATA_LOSS: its manifest is damaged, or
  // an object that it or one of its parents names is missing or of another size.
  absl::Status status;
  v1::Manifest manifest;  // If the status is OK.
  uint64_t bytes = 0;     // The bytes of all objects in the folder.
  std::string foreign;    // An object in it that is not Capstan's: the folder is never deleted.
};

// Something else in that folder: an object, or a folder that is no checkpoint, not even half of
// one. Nobody here touches it.
struct ForeignEntry {
  std::string name;  // "photos" or "notes.txt".
  std::string why;   // It is not taken for a checkpoint, for people.
};

struct CheckpointFolder {
  // By timeline, then by step, then by time: a job that was started over begins at step 0 again, in
  // a later timeline. Those without a readable manifest come first.
  std::vector<ListedCheckpoint> checkpoints;
  std::vector<ForeignEntry> foreign;  // By name.
};

// `checkpoints`: that folder. See checkpoint_names.h for what is taken for Capstan's.
absl::StatusOr<CheckpointFolder> ReadCheckpointFolder(ObjectStore& checkpoints);
// The checkpoints of it alone.
absl::StatusOr<std::vector<ListedCheckpoint>> ListCheckpoints(ObjectStore& checkpoints);

// Ids that need not be kept: all but the `keep` newest, those of `exempt`, and what the chains of
// these need. One whose manifest cannot be read is kept if it is damaged, for people to look at;
// one without any is garbage, unless it is in `exempt`. One with a foreign object stays. The newest
// come first, and no parent before what builds on it: deleted in this order, what is left of them
// can be read, wherever that is broken off. A pure function.
std::vector<std::string> CheckpointsToPrune(absl::Span<const ListedCheckpoint> checkpoints,
                                            size_t keep, const std::set<std::string>& exempt);

// Whoever was writing this checkpoint cannot complete it any more: an empty manifest takes the
// place of its own. ALREADY_EXISTS: it has been completed, or given up before. INVALID_ARGUMENT: no
// checkpoint has such a name.
absl::Status GiveUpCheckpoint(ObjectStore& checkpoints, const std::string& id);

// Deletes the manifest first: what is left after a crash is garbage, not a broken checkpoint. Of
// one that has been given up the empty manifest stays, until there is nothing else left to delete.
// INVALID_ARGUMENT, and nothing is deleted: no checkpoint has such a name. FAILED_PRECONDITION, and
// nothing is deleted: an object in the folder is not Capstan's.
absl::Status DeleteCheckpoint(ObjectStore& checkpoints, const std::string& id);

// The same of one that has no manifest, so that whoever is still writing it cannot complete it with
// objects that are gone: it is given up first, and the empty manifest stays. ALREADY_EXISTS: it has
// been completed meanwhile, and stays.
absl::Status DeleteUnfinished(ObjectStore& checkpoints, const std::string& id);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_
