// The model of a job whose computing is the user's own program. The first worker declares it; from
// then on it is the job's, and whoever declares another one is refused.
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
  // Whose values stop coming for so long makes room for another worker's.
  static constexpr absl::Duration kStill = absl::Seconds(20);

  // `clock` must outlive this object.
  explicit ModelIntake(const Clock& clock) : clock_(clock) {}

  // ---- the chief ----

  // The job, which is without tensors, has no model yet. Workers are asked for it, and the one that
  // comes first is stored; `folder_uri` is the job's. `store` must outlive what follows.
  void Ask(const v1::JobSpec& job, JobStore& store, const std::string& folder_uri);
  // The job has this model.
  void Know(const v1::JobSpec& job, const v1::StoredModel& model);
  // What is known, at the latest after `timeout`.
  std::optional<v1::StoredModel> Await(absl::Duration timeout);

  // Whether workers are asked for the model, which nobody has declared yet.
  bool WantsModel();

  // ---- workers ----

  // The answer to a worker that cannot train yet: it is told the job, and whether the model is
  // wanted. One that has trainers, from a chief before this one, and declares another model is told
  // the job, too, as that may have begun anew meanwhile. FAILED_PRECONDITION: it declares another
  // model. Nothing: it may register.
  std::optional<absl::StatusOr<v1::RegisterWorkerReply>> Answer(
      const v1::RegisterWorkerRequest& request);

  // Says in which facts this worker's program differs from the one that has declared the model of a
  // synchronous job. Empty: in none, or it is not known.
  std::string OddFacts(const v1::RegisterWorkerRequest& request);

  // DeclareModel: a reactor that takes the stream and ends it. UNAVAILABLE for a worker while the
  // values of another one are coming, as those of a large crew would fill the chief's memory.
  grpc::ServerReadReactor<v1::DeclareModelRequest>* Take(v1::DeclareModelReply* reply);

 private:
  class Reactor;
  struct Asked {
    JobStore* store = nullptr;
    std::string folder_uri;
  };

  // The stream whose values are taken.
  struct Turn {
    const Reactor* stream = nullptr;
    absl::Time heard;  // Infinitely late: all has come, and is being stored.
  };

  absl::Status TakeTurn(const Reactor* stream);
  void KeepTurn(const Reactor* stream);
  void EndTurn(const Reactor* stream);
  // Whether this declaration is still wanted. An error: it is refused.
  absl::StatusOr<bool> Wants(const v1::ModelDeclaration& declaration);
  absl::StatusOr<v1::DeclareModelReply> Store(const v1::ModelDeclaration& declaration,
                                              absl::Span<const float> values);
  absl::Status Compare(const v1::ModelDeclaration& declaration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock& clock_;
  absl::Mutex storing_;  // Before mu_: one model is stored at a time.
  absl::Mutex mu_;
  std::optional<v1::JobSpec> job_ ABSL_GUARDED_BY(mu_);  // None: not of this kind.
  std::optional<Asked> asked_ ABSL_GUARDED_BY(mu_);
  std::optional<v1::StoredModel> known_ ABSL_GUARDED_BY(mu_);
  std::optional<Turn> turn_ ABSL_GUARDED_BY(mu_);
  StoreThread thread_{/*most_waiting=*/64};  // Last: it uses the others.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_MODEL_INTAKE_H_
