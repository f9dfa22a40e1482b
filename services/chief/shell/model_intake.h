// Receives the model of a job whose workers compute with the user's own program. The model that the
// first worker declares becomes the job's model, and workers that declare another one are refused.
#ifndef CAPSTAN_CHIEF_SHELL_MODEL_INTAKE_H_
#define CAPSTAN_CHIEF_SHELL_MODEL_INTAKE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "capstan/base/clock.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "capstan/v1/chief_state.pb.h"
#include "chief/shell/job_store.h"
#include "chief/shell/store_thread.h"

namespace capstan::chief {

// Thread-safe.
class ModelIntake {
 public:
  // A worker that has sent no values for this long loses its turn to another one.
  static constexpr absl::Duration kStill = absl::Seconds(20);

  // `clock` must outlive this object.
  explicit ModelIntake(const Clock& clock) : clock_(clock) {}

  // ---- the chief ----

  // Begins to ask workers for the model of `job`, which has no tensors yet. The first one is stored
  // in `store`, which must outlive this object. `folder_uri` is the job's folder.
  void Ask(const v1::JobSpec& job, JobStore& store, const std::string& folder_uri);
  // Stops asking: waits while a model is being stored, and does not use the store any more.
  void StopAsking();
  // The job has no program: workers register without a model. Waits as StopAsking does.
  void Forget();
  // Sets the job's model, so that none is asked for.
  void Know(const v1::JobSpec& job, const v1::StoredModel& model);
  // Waits until the model is known, for at most `timeout`. Returns it, or nullopt.
  std::optional<v1::StoredModel> Await(absl::Duration timeout);

  // Returns true if workers are asked for the model, because none has declared one yet.
  bool WantsModel();

  // ---- workers ----

  // Returns the answer to a worker that may not register yet: the job, and whether the model is
  // wanted. A worker with trainers from an earlier chief that declares another model is also told
  // the job, as that may have been started over since. FAILED_PRECONDITION: any other worker
  // declares another model. nullopt: the worker may register.
  std::optional<absl::StatusOr<v1::RegisterWorkerReply>> Answer(
      const v1::RegisterWorkerRequest& request);

  // Returns a sentence about the facts in which this worker's program differs from the one that has
  // declared the model of a synchronous job; empty if there are none or the model is not known.
  std::string OddFacts(const v1::RegisterWorkerRequest& request);

  // DeclareModel: returns a reactor that reads the stream and finishes it. It ends with UNAVAILABLE
  // while the values of another worker are coming in, as the values of many workers would fill the
  // chief's memory.
  grpc::ServerReadReactor<v1::DeclareModelRequest>* Take(v1::DeclareModelReply* reply);

 private:
  class Reactor;
  struct Asked {
    JobStore* store = nullptr;
    std::string folder_uri;
  };

  // The one stream whose values are being taken.
  struct Turn {
    const Reactor* stream = nullptr;
    absl::Time
        heard;  // When values last came; InfiniteFuture: all have come, and are being stored.
  };

  absl::Status TakeTurn(const Reactor* stream);
  void KeepTurn(const Reactor* stream);
  void EndTurn(const Reactor* stream);
  // Returns true if a model is still wanted, false if `declaration` is already the job's model, and
  // an error if it is refused.
  absl::StatusOr<bool> Wants(const v1::ModelDeclaration& declaration);
  absl::StatusOr<v1::DeclareModelReply> Store(const v1::ModelDeclaration& declaration,
                                              absl::Span<const float> values);
  absl::Status Compare(const v1::ModelDeclaration& declaration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock& clock_;
  absl::Mutex storing_;  // Locked before mu_: one model is stored at a time.
  absl::Mutex mu_;
  std::optional<v1::JobSpec> job_ ABSL_GUARDED_BY(mu_);  // nullopt: no user's program.
  std::optional<Asked> asked_ ABSL_GUARDED_BY(mu_);
  std::optional<v1::StoredModel> known_ ABSL_GUARDED_BY(mu_);
  std::optional<Turn> turn_ ABSL_GUARDED_BY(mu_);
  StoreThread thread_{/*most_waiting=*/64};  // Last: destroyed first, as it uses the others.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_MODEL_INTAKE_H_
