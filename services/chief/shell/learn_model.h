// Obtains the model of a job whose workers compute with the user's own program, before the chief
// can run the job.
#ifndef CAPSTAN_CHIEF_SHELL_LEARN_MODEL_H_
#define CAPSTAN_CHIEF_SHELL_LEARN_MODEL_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/chief_state.pb.h"
#include "capstan/v1/job.pb.h"
#include "chief/shell/doors.h"
#include "chief/shell/job_store.h"
#include "chief/shell/process_options.h"

namespace capstan::chief {

// Returns the model in the store, unless the job starts over; otherwise opens the ports, waits for
// the first worker to declare one, and returns that. Returns nullopt if the process was asked to
// stop. `job` has no tensors yet. Errors are those of the store and the ports.
absl::StatusOr<std::optional<v1::StoredModel>> LearnModel(const ProcessOptions& options,
                                                          const v1::JobSpec& job, JobStore& store,
                                                          Doors& doors);

// Returns the folder of the initial values of the job's model; empty if the job has no program.
std::string InitialUri(const v1::JobSpec& job, const std::optional<v1::StoredModel>& model);

// From now on tells workers this job, which the chief runs, and this model. The job may differ from
// the present file, from which programs must not build their model, and from an earlier file for
// which a model was declared. In a job without a program workers need not be told, and register.
void TellPrograms(v1::JobSpec job, const std::optional<v1::StoredModel>& model, Doors& doors);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_LEARN_MODEL_H_
