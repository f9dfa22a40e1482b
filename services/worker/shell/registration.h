// Asking the chief for a place in the job.
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
  Incarnation former{};  // This process's incarnation before, if it begins anew.
  absl::Duration give_up_after = absl::Minutes(5);
  // What the user's program has declared; null: nothing yet.
  const v1::ModelDeclaration* declaration = nullptr;
};

// Waits for the chief, with a line in the log every few seconds, and registers. CANCELLED:
// `shutdown` was requested meanwhile. DEADLINE_EXCEEDED: no chief in time. Others: what the chief
// answered.
absl::StatusOr<v1::RegisterWorkerReply> Register(EventLoop& loop, const Channel& channel,
                                                 const RegistrationOptions& options,
                                                 const Shutdown& shutdown);

// Tells the chief, where it can be reached, that the program of the worker of this name has failed
// before it could take a step.
void TellFailure(EventLoop& loop, const Channel& channel, const std::string& name,
                 const v1::UserCodeError& error);

// Tells the chief the job's model, and the values it begins with, where another worker may do the
// same. CANCELLED: `shutdown` was requested meanwhile. FAILED_PRECONDITION: another model is the
// job's. UNAVAILABLE: no answer came, by IsWorthRepeating; the caller is to declare it again.
absl::Status DeclareModel(const Channel& channel, const DeclaredModel& model,
                          const Shutdown& shutdown);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_REGISTRATION_H_
