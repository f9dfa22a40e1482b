// What the object store holds of a job, below <checkpoint uri>/<job>: the chief's state, the tasks
// that the training data were cut into, the model that a user's program has declared, and the
// checkpoints.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_STORE_H_
#define CAPSTAN_CHIEF_SHELL_JOB_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/chief_state.pb.h"

namespace capstan::chief {

// One thread at a time may call the methods about the state, and one those about the model. All
// others are thread-safe.
class JobStore {
 public:
  // `folder` is the job's folder, `checkpoints` the one of its checkpoints.
  JobStore(std::unique_ptr<ObjectStore> folder, std::unique_ptr<ObjectStore> checkpoints)
      : folder_(std::move(folder)), checkpoints_(std::move(checkpoints)) {}
  // Returns the job's folder below the checkpoint.uri `uri`.
  static std::string FolderUri(const std::string& uri, const std::string& job);
  // INVALID_ARGUMENT: the uri is not usable.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(const std::string& uri,
                                                        const std::string& job);

  // ---- state/chief.json ----

  // Returns the state in the store; nothing if there is none. DATA_LOSS: it is damaged.
  // FAILED_PRECONDITION: a later version has written it in a format that is not known here.
  absl::StatusOr<std::optional<v1::ChiefState>> ReadState();
  // Writes the state over the one that this object has read or written last. ABORTED: another chief
  // has written since. UNAVAILABLE: this chief's own earlier write has succeeded after all; call it
  // again.
  absl::Status WriteState(const v1::ChiefState& state);
  // Copies the stored state to chief-<term>.json.
  absl::Status SetStateAside(uint64_t term);

  // ---- state/tasks-<fingerprint>.json, state/listing-<fingerprint>.txt ----

  // Keeps the tasks that the training data were cut into, unless they are kept already, and the
  // hash of the listing of files from which they were made last.
  absl::Status KeepTasks(uint64_t fingerprint, const TaskRanges& ranges);
  // Returns the kept tasks. NOT_FOUND: none are kept under this fingerprint. DATA_LOSS: they are
  // damaged.
  absl::StatusOr<TaskRanges> ReadTasks(uint64_t fingerprint);

  // ---- state/model.json ----

  // Returns the model that a user's program has declared; nothing if there is none. DATA_LOSS: it
  // is damaged.
  absl::StatusOr<std::optional<v1::StoredModel>> ReadModel();
  // Writes the model over the one that was read last, if any. ABORTED: another one is there.
  absl::Status WriteModel(const v1::StoredModel& model);

  // ---- checkpoints ----

  absl::StatusOr<std::vector<ListedCheckpoint>> List() { return ListCheckpoints(*checkpoints_); }
  // See GiveUpCheckpoint.
  absl::Status GiveUp(const std::string& id) { return GiveUpCheckpoint(*checkpoints_, id); }
  struct Deletion {
    std::vector<std::string> deleted;  // The checkpoints that are gone.
    absl::Status status;               // The first refusal, or the failure that ended it.
  };
  // Deletes the checkpoints in this order. Goes on after one that DeleteCheckpoint refuses, and
  // ends at one that fails.
  Deletion Delete(const std::vector<std::string>& ids);
  // The same for checkpoints that may be complete: those that are stay; the others are given up and
  // deleted.
  Deletion DeleteUncompleted(const std::vector<std::string>& ids);

 private:
  absl::Status KeepListing(uint64_t fingerprint, uint64_t listing);

  const std::unique_ptr<ObjectStore> folder_;
  const std::unique_ptr<ObjectStore> checkpoints_;
  std::optional<ObjectVersion> version_;  // That of the state that was read or written last.
  std::optional<ObjectVersion> model_version_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_STORE_H_
