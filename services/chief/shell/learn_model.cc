#include "chief/shell/learn_model.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/log.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/rpc/health.h"
#include "chief/shell/job_claim.h"
#include "chief/shell/refusal.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kGlance = absl::Milliseconds(100);
constexpr absl::Duration kModelLine = absl::Seconds(30);

// Returns true if the job starts over, and does not use what the store holds of it.
absl::StatusOr<bool> IsBegunAnew(const ProcessOptions& options, JobStore& store) {
  absl::StatusOr<std::optional<v1::ChiefState>> state = store.ReadState();
  if (!state.ok() && !options.fresh) return state.status();
  if (!state.ok() || !*state) return options.fresh;
  return StartsOver(**state, {.fresh = options.fresh, .fresh_once = options.fresh_once});
}

// Returns the model in the store, for a job that continues with it. A job that starts over writes
// its own in its place, even if the stored one is damaged.
absl::StatusOr<std::optional<v1::StoredModel>> ModelToGoOnWith(JobStore& store, bool anew) {
  absl::StatusOr<std::optional<v1::StoredModel>> stored = store.ReadModel();
  if (anew && (stored.ok() || absl::IsDataLoss(stored.status()))) return std::nullopt;
  return stored;
}

// Opens the ports, and waits until a worker has declared the model.
absl::StatusOr<std::optional<v1::StoredModel>> AwaitModel(const v1::JobSpec& job, Doors& doors,
                                                          const Shutdown& shutdown) {
  doors.door.Tell(ModelWantedStatus(job.job()));
  CAPSTAN_RETURN_IF_ERROR(doors.Tell().status());
  doors.side->health().Set(Probe::kReadiness, true);
  log::Info("waiting for the model, which the first worker declares",
            {{"program", job.model().user()}});
  absl::Time next_line = doors.clock.Now() + kModelLine;
  for (;;) {
    if (std::optional<v1::StoredModel> model = doors.models.Await(kGlance)) return model;
    if (shutdown.requested()) return std::nullopt;
    if (doors.clock.Now() < next_line) continue;
    next_line += kModelLine;
    log::Info("still waiting for the model; are there workers?");
  }
}

}  // namespace

absl::StatusOr<std::optional<v1::StoredModel>> LearnModel(const ProcessOptions& options,
                                                          const v1::JobSpec& job, JobStore& store,
                                                          Doors& doors) {
  CAPSTAN_ASSIGN_OR_RETURN(const bool anew, IsBegunAnew(options, store));
  CAPSTAN_ASSIGN_OR_RETURN(std::optional<v1::StoredModel> stored, ModelToGoOnWith(store, anew));
  if (stored) return stored;
  const Shutdown shutdown;
  doors.models.Ask(job, store, JobStore::FolderUri(job.checkpoint().uri(), job.job()));
  absl::StatusOr<std::optional<v1::StoredModel>> model = AwaitModel(job, doors, shutdown);
  // The doors outlive the store, and workers may be declaring their model.
  if (!model.ok() || !*model) doors.models.StopAsking();
  return model;
}

std::string InitialUri(const v1::JobSpec& job, const std::optional<v1::StoredModel>& model) {
  if (!model) return "";
  return absl::StrCat(JobStore::FolderUri(job.checkpoint().uri(), job.job()), "/",
                      model->initial());
}

void TellPrograms(v1::JobSpec job, const std::optional<v1::StoredModel>& model, Doors& doors) {
  if (!model || job.model().user().empty()) return doors.models.Forget();
  job.clear_tensors();
  doors.models.Know(job, *model);
}

}  // namespace capstan::chief
