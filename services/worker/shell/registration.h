// Registers a worker with the chief, and declares the model of a user's program.
#ifndef CAPSTAN_WORKER_SHELL_REGISTRATION_H_
#define CAPSTAN_WORKER_SHELL_REGISTRATION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/base/shutdown.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/chief.pb.h"
#include "worker/shell/model_source.h"

namespace capstan::worker {

struct RegistrationOptions {
  std::string chief;  // host:port, for messages.
  std::string name;
  Incarnation incarnation{};
  Incarnation former{};  // The incarnation that this process had before, if it registers anew.
  absl::Duration give_up_after = absl::Minutes(5);
  // What the user's program has declared; null: nothing yet.
  const v1::ModelDeclaration* declaration = nullptr;
};

// Registers with the chief, and waits for it meanwhile, with a line in the log every few seconds.
// CANCELLED: `shutdown` was requested meanwhile. DEADLINE_EXCEEDED: no chief answered in time.
// Other codes: what the chief answered.
absl::StatusOr<v1::RegisterWorkerReply> Register(EventLoop& loop, const Channel& channel,
                                                 const RegistrationOptions& options,
                                                 const Shutdown& shutdown);

// Tells the chief, if it can be reached, that the user's program of the worker `name` has failed
// before it could take a step.
void TellFailure(EventLoop& loop, const Channel& channel, const std::string& name,
                 const v1::UserCodeError& error);

// Tells the chief the job's model and the values that its tensors begin with; other workers may do
// the same. CANCELLED: `shutdown` was requested meanwhile. FAILED_PRECONDITION: the job has another
// model already. UNAVAILABLE: no answer came, by IsWorthRepeating; the caller is to declare it
// again.
absl::Status DeclareModel(const Channel& channel, const DeclaredModel& model,
                          const Shutdown& shutdown);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_REGISTRATION_H_
