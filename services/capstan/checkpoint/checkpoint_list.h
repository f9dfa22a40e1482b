// Lists the checkpoints of a job, decides which of them may be deleted, and deletes them.
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

// A folder in the job's "checkpoints" folder that has a checkpoint's name.
struct ListedCheckpoint {
  std::string id;
  // NOT_FOUND: the folder has no manifest, so it is not a checkpoint. DATA_LOSS: its manifest is
  // damaged, an object that it or one of its parents names is missing or has another size, or the
  // chain of its parents does not end or is longer than CheckpointReader supports.
  absl::Status status;
  v1::Manifest manifest;  // If the status is OK.
  uint64_t bytes = 0;     // The total size of all objects in the folder.
  // An object in the folder that does not belong to Capstan; then the folder is never deleted.
  std::string foreign;
};

// Something else in the "checkpoints" folder: an object, or a folder that is not a checkpoint, not
// even an unfinished one. The functions here never change it.
struct ForeignEntry {
  std::string name;  // "photos" or "notes.txt".
  std::string why;   // Why it is not considered a checkpoint, for people.
};

struct CheckpointFolder {
  // Sorted by timeline, then by step, then by time: a job that was started over begins at step 0
  // again, in a later timeline. Those without a readable manifest come first.
  std::vector<ListedCheckpoint> checkpoints;
  std::vector<ForeignEntry> foreign;  // By name.
};

// Lists the folder `checkpoints`. See checkpoint_names.h for which names belong to Capstan.
absl::StatusOr<CheckpointFolder> ReadCheckpointFolder(ObjectStore& checkpoints);
// The same, but only the checkpoints.
absl::StatusOr<std::vector<ListedCheckpoint>> ListCheckpoints(ObjectStore& checkpoints);

// Returns the ids of the checkpoints that need not be kept: all but the `keep` newest, those in
// `exempt`, and the parents in the chains of these. A checkpoint whose manifest is damaged is kept,
// for people to examine. One without a manifest is garbage, unless it is in `exempt`. One with a
// foreign object is kept. The newest come first, and each before its parents: if they are deleted
// in this order, the remaining ones can be read even if the deletion is interrupted. A pure
// function.
std::vector<std::string> CheckpointsToPrune(absl::Span<const ListedCheckpoint> checkpoints,
                                            size_t keep, const std::set<std::string>& exempt);

// Makes sure that the process that is writing this checkpoint cannot complete it any more, by
// storing an empty manifest. ALREADY_EXISTS: it was completed, or given up before.
// INVALID_ARGUMENT: `id` is not a name of a checkpoint.
absl::Status GiveUpCheckpoint(ObjectStore& checkpoints, const std::string& id);

// Deletes the checkpoint, its manifest first: what remains after a crash is garbage, not a broken
// checkpoint. If the checkpoint was given up, its empty manifest stays until a later call finds
// nothing else to delete. Nothing is deleted in these cases: INVALID_ARGUMENT: `id` is not a name
// of a checkpoint. FAILED_PRECONDITION: an object in the folder does not belong to Capstan.
absl::Status DeleteCheckpoint(ObjectStore& checkpoints, const std::string& id);

// Deletes a checkpoint without a manifest. It first gives it up and then deletes it like
// DeleteCheckpoint, which leaves the empty manifest, so that a process that is still writing it
// cannot complete it with deleted objects. ALREADY_EXISTS: it was completed meanwhile, and is kept.
absl::Status DeleteUnfinished(ObjectStore& checkpoints, const std::string& id);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_
