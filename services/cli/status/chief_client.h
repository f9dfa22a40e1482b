// The chief's calls for people, each answered within a deadline.
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
  // Connects when first asked, and again after every loss.
  explicit ChiefClient(const std::string& address);

  // UNAVAILABLE soon if nobody listens, DEADLINE_EXCEEDED after `timeout`.
  absl::StatusOr<v1::GetStatusReply> GetStatus(absl::Duration timeout) override;

  // The folder of a checkpoint that is taken now. FAILED_PRECONDITION: the job is not running, or
  // keeps no checkpoints. DEADLINE_EXCEEDED: it is still being taken.
  absl::StatusOr<std::string> TakeCheckpoint(absl::Duration timeout);

  // What would make the shards even; unless `plan_only`, it is begun. FAILED_PRECONDITION: the job
  // is not training.
  absl::StatusOr<v1::RebalanceReply> Rebalance(bool plan_only, absl::Duration timeout);

  const std::string& address() const { return address_; }

 private:
  // Moves the connection on, for a while at most, if it does not stand.
  void AwaitConnection();

  // Says whose failure it is.
  absl::Status Named(const grpc::Status& status) const;

  const std::string address_;
  const Channel channel_;
  const std::unique_ptr<v1::Chief::Stub> stub_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_CHIEF_CLIENT_H_
