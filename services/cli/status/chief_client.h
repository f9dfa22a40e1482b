// Calls the RPCs of the chief that serve people. Each call has a time limit.
#ifndef CAPSTAN_CLI_STATUS_CHIEF_CLIENT_H_
#define CAPSTAN_CLI_STATUS_CHIEF_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/rpc/channel.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "cli/status/status_source.h"

namespace capstan::cli {

// Thread-compatible.
class ChiefClient : public StatusSource {
 public:
  // Connects at the first call, and again whenever the connection is lost. `tls`: what the chief is
  // shown; null: plaintext. It must outlive this object.
  ChiefClient(const std::string& address, const Tls* tls);

  // UNAVAILABLE: nobody listens, which is noticed soon. DEADLINE_EXCEEDED: no answer within
  // `timeout`.
  absl::StatusOr<v1::GetStatusReply> GetStatus(absl::Duration timeout) override;

  // Takes a checkpoint now and returns its folder. FAILED_PRECONDITION: the job is not running, or
  // keeps no checkpoints. DEADLINE_EXCEEDED: the checkpoint is still being taken.
  absl::StatusOr<std::string> TakeCheckpoint(absl::Duration timeout);

  // Returns the moves that would balance the shards, and begins them unless `plan_only`.
  // FAILED_PRECONDITION: the job is not training.
  absl::StatusOr<v1::RebalanceReply> Rebalance(bool plan_only, absl::Duration timeout);

  // Ends the job in order; `reason` is for people. Returns once the chief knows of it, not when it
  // has ended.
  absl::Status StopJob(const std::string& reason, absl::Duration timeout);

  const std::string& address() const { return address_; }

 private:
  // If there is no connection, waits a short while for one, so that its handshake makes progress.
  void AwaitConnection();

  // Returns the error of a call with the chief's address in it.
  absl::Status Named(const grpc::Status& status) const;

  const std::string address_;
  const Channel channel_;
  const std::unique_ptr<v1::Chief::Stub> stub_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_CHIEF_CLIENT_H_
