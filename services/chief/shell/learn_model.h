// Learns the model of a job whose workers compute with the user's own program, before the job is
// led.
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

// Returns the model that the store holds, unless the job starts over; otherwise waits for the first
// worker to declare one, with open ports, and returns that. Nothing: the process was asked to stop.
// `job` is without tensors. Errors are those of the store and the ports.
absl::StatusOr<std::optional<v1::StoredModel>> LearnModel(const ProcessOptions& options,
                                                          const v1::JobSpec& job, JobStore& store,
                                                          Doors& doors);

// Where the values lie that the job's model begins with; empty: it has no program.
std::string InitialUri(const v1::JobSpec& job, const std::optional<v1::StoredModel>& model);

// From now on workers are told this job, which is led and has this model. It may be another one
// than its file says, by which no program is to build its model, or than an earlier file has said
// for which a model was declared. Without a program workers are told nothing here, and register.
void TellPrograms(v1::JobSpec job, const std::optional<v1::StoredModel>& model, Doors& doors);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_LEARN_MODEL_H_
