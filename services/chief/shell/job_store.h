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

// The methods about the state may be called by one thread at a time, and so may those about the
// model. All others are thread-safe.
class JobStore {
 public:
  // `folder` is the job's folder, `checkpoints` the folder of its checkpoints.
  JobStore(std::unique_ptr<ObjectStore> folder, std::unique_ptr<ObjectStore> checkpoints)
      : folder_(std::move(folder)), checkpoints_(std::move(checkpoints)) {}
  // Returns the job's folder below the checkpoint.uri `uri`.
  static std::string FolderUri(const std::string& uri, const std::string& job);
  // INVALID_ARGUMENT: the uri is not usable.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(const std::string& uri,
                                                        const std::string& job);

  // ---- state/chief.json ----

  // Returns the stored state; nullopt if there is none. DATA_LOSS: it is damaged.
  // FAILED_PRECONDITION: it is in the format of a later version, which this one cannot read.
  absl::StatusOr<std::optional<v1::ChiefState>> ReadState();
  // Writes the state, on the condition that the stored one is what this object has read or written
  // last. ABORTED: another chief has written since. UNAVAILABLE: an earlier write of this chief
  // that seemed to fail has succeeded; call it again.
  absl::Status WriteState(const v1::ChiefState& state);
  // Copies the stored state to chief-<term>.json.
  absl::Status SetStateAside(uint64_t term);

  // ---- state/tasks-<fingerprint>.json, state/listing-<fingerprint>.txt ----

  // Stores the tasks that the training data were cut into, unless they are stored already, and the
  // hash of the listing of files from which they were last made.
  absl::Status KeepTasks(uint64_t fingerprint, const TaskRanges& ranges);
  // Returns the stored tasks. NOT_FOUND: none are stored under this fingerprint. DATA_LOSS: they
  // are damaged.
  absl::StatusOr<TaskRanges> ReadTasks(uint64_t fingerprint);

  // ---- state/model.json ----

  // Returns the model that a user's program has declared; nullopt if there is none. DATA_LOSS: it
  // is damaged.
  absl::StatusOr<std::optional<v1::StoredModel>> ReadModel();
  // Writes the model, on the condition that the stored one is what was read last, if any. ABORTED:
  // it is not.
  absl::Status WriteModel(const v1::StoredModel& model);

  // ---- checkpoints ----

  absl::StatusOr<std::vector<ListedCheckpoint>> List() { return ListCheckpoints(*checkpoints_); }
  // See GiveUpCheckpoint.
  absl::Status GiveUp(const std::string& id) { return GiveUpCheckpoint(*checkpoints_, id); }
  struct Deletion {
    std::vector<std::string> deleted;  // The checkpoints that are deleted.
    absl::Status status;               // The first refusal, or the error that stopped the deletion.
  };
  // Deletes the checkpoints in this order. Continues after one that DeleteCheckpoint refuses, and
  // stops at one that fails.
  Deletion Delete(const std::vector<std::string>& ids);
  // The same for checkpoints that may be complete: complete ones are kept; the others are given up
  // and deleted.
  Deletion DeleteUncompleted(const std::vector<std::string>& ids);

 private:
  absl::Status KeepListing(uint64_t fingerprint, uint64_t listing);

  const std::unique_ptr<ObjectStore> folder_;
  const std::unique_ptr<ObjectStore> checkpoints_;
  std::optional<ObjectVersion> version_;  // The version of the state last read or written.
  std::optional<ObjectVersion> model_version_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_STORE_H_
