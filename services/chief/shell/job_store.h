// What is durable of a job, below <checkpoint uri>/<job>: the chief's state, what the training data
// were cut into, the model that a user's program has declared, and the checkpoints.
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

// The methods about the state, and those about the model: by one thread at a time. The others:
// thread-safe.
class JobStore {
 public:
  // `folder` is the job's, `checkpoints` that of its checkpoints.
  JobStore(std::unique_ptr<ObjectStore> folder, std::unique_ptr<ObjectStore> checkpoints)
      : folder_(std::move(folder)), checkpoints_(std::move(checkpoints)) {}
  // The job's folder below a checkpoint.uri.
  static std::string FolderUri(const std::string& uri, const std::string& job);
  // INVALID_ARGUMENT: the uri is not usable.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(const std::string& uri,
                                                        const std::string& job);

  // ---- state/chief.json ----

  // The state that is in the store; nothing if there is none. DATA_LOSS: it is damaged.
  absl::StatusOr<std::optional<v1::ChiefState>> ReadState();
  // In the place of what this object has read or written last. ABORTED: something else is
  // there.
  absl::Status WriteState(const v1::ChiefState& state);
  // Keeps what is stored there beside it, as chief-<term>.json.
  absl::Status SetStateAside(uint64_t term);

  // ---- state/tasks-<fingerprint>.json, state/listing-<fingerprint>.txt ----

  // Keeps what the training data were cut into, unless it is kept already, and the hash of the
  // listing of which that was made, which may be another one by now.
  absl::Status KeepTasks(uint64_t fingerprint, const TaskRanges& ranges);
  // NOT_FOUND: none are kept under this fingerprint. DATA_LOSS: they are damaged.
  absl::StatusOr<TaskRanges> ReadTasks(uint64_t fingerprint);

  // ---- state/model.json ----

  // What a user's program has declared; nothing if nothing is there. DATA_LOSS: it is damaged.
  absl::StatusOr<std::optional<v1::StoredModel>> ReadModel();
  // In the place of what was read last, if anything. ABORTED: something else is there.
  absl::Status WriteModel(const v1::StoredModel& model);

  // ---- checkpoints ----

  absl::StatusOr<std::vector<ListedCheckpoint>> List() { return ListCheckpoints(*checkpoints_); }
  // See GiveUpCheckpoint.
  absl::Status GiveUp(const std::string& id) { return GiveUpCheckpoint(*checkpoints_, id); }
  // All of them, in this order, but those that DeleteCheckpoint refuses; the first refusal, or the
  // first failure, which ends it.
  absl::Status Delete(const std::vector<std::string>& ids);
  // The same, of those that have not been completed, nor ever will be.
  absl::Status DeleteUncompleted(const std::vector<std::string>& ids);

 private:
  absl::Status KeepListing(uint64_t fingerprint, uint64_t listing);

  const std::unique_ptr<ObjectStore> folder_;
  const std::unique_ptr<ObjectStore> checkpoints_;
  std::optional<ObjectVersion> version_;  // The version of the state that was read or written last.
  std::optional<ObjectVersion> model_version_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_STORE_H_
