// Lists the checkpoints of a job, says which of them may be deleted, and deletes them.
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
  // NOT_FOUND: the folder has no manifest, so it is no checkpoint. DATA_LOSS: its manifest is
  // damaged, an object that it or one of its parents names is missing or of another size, or the
  // chain of its parents does not end or is longer than CheckpointReader reads.
  absl::Status status;
  v1::Manifest manifest;  // If the status is OK.
  uint64_t bytes = 0;     // The bytes of all objects in the folder.
  // An object in the folder that is not Capstan's; then the folder is never deleted.
  std::string foreign;
};

// Something else in the "checkpoints" folder: an object, or a folder that is no checkpoint, not
// even an unfinished one. Nothing in this file touches it.
struct ForeignEntry {
  std::string name;  // "photos" or "notes.txt".
  std::string why;   // Why it is not taken for a checkpoint, as a text for people.
};

struct CheckpointFolder {
  // Sorted by timeline, then by step, then by time: a job that was started over begins at step 0
  // again, in a later timeline. Those without a readable manifest come first.
  std::vector<ListedCheckpoint> checkpoints;
  std::vector<ForeignEntry> foreign;  // By name.
};

// Lists the folder `checkpoints`. See checkpoint_names.h for what is taken for Capstan's.
absl::StatusOr<CheckpointFolder> ReadCheckpointFolder(ObjectStore& checkpoints);
// The same, but only the checkpoints.
absl::StatusOr<std::vector<ListedCheckpoint>> ListCheckpoints(ObjectStore& checkpoints);

// Returns the ids of the checkpoints that need not be kept: all but the `keep` newest, those of
// `exempt`, and what the chains of these need. A checkpoint whose manifest is damaged is kept, for
// people to look at. One without a manifest is garbage, unless it is in `exempt`. One with a
// foreign object is kept. The newest come first, and each before its parents: if they are deleted
// in this order, the remaining ones can always be read, wherever deleting stops. A pure function.
std::vector<std::string> CheckpointsToPrune(absl::Span<const ListedCheckpoint> checkpoints,
                                            size_t keep, const std::set<std::string>& exempt);

// Makes sure that the process that was writing this checkpoint cannot complete it any more, by
// storing an empty manifest. ALREADY_EXISTS: it has been completed, or given up before.
// INVALID_ARGUMENT: `id` is no name of a checkpoint.
absl::Status GiveUpCheckpoint(ObjectStore& checkpoints, const std::string& id);

// Deletes the checkpoint, its manifest first: what is left after a crash is garbage, not a broken
// checkpoint. If the checkpoint was given up, its empty manifest stays, until a later call finds
// nothing else to delete. INVALID_ARGUMENT, and nothing is deleted: `id` is no name of a
// checkpoint. FAILED_PRECONDITION, and nothing is deleted: an object in the folder is not
// Capstan's.
absl::Status DeleteCheckpoint(ObjectStore& checkpoints, const std::string& id);

// Deletes a checkpoint that has no manifest. Gives it up first, and then deletes it as
// DeleteCheckpoint does, which leaves the empty manifest, so that a process that is still writing
// it cannot complete it with objects that are gone. ALREADY_EXISTS: it has been completed
// meanwhile, and stays.
absl::Status DeleteUnfinished(ObjectStore& checkpoints, const std::string& id);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_LIST_H_
