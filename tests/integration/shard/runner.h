// The runner of a lane of synchronous rounds, as a worker has it. Every step can be taken alone.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_RUNNER_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_RUNNER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/consistency/round_commit.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {

// SmallJob of which all is synchronous.
v1::JobSpec SyncJob(uint32_t lanes, uint32_t backup_workers = 0, uint32_t dense_width = 10);

// *Confined to one thread*.
class Runner {
 public:
  Runner(LocalShards& shards, int lane, uint64_t generation = 1);

  // From now on goes by this view: where the partitions are, and the coordinator.
  void SetView(const v1::View& view) { trainer_.SetView(view); }

  // What the coordinator answers; of OPEN the round is taken over.
  v1::OpenRoundReply Open(absl::Duration wait = absl::ZeroDuration());
  PullResult Pull() { return trainer_.Pull({.round = Name()}); }
  // The same without the commit of the round before, which is therefore not sent to who asks.
  PullResult PullWithoutCommit() { return trainer_.Pull({.round = RoundName{round_, nullptr}}); }
  PushResult Stage(float gradient, uint32_t examples);
  v1::ReportLaneReply::Answer Report();
  v1::HoldRoundsReply Hold(bool hold, uint64_t number);
  // A whole step: OPEN, staged on every shard, and counted.
  void Train(float gradient, uint32_t examples);

  const std::vector<float>& rows() const { return trainer_.rows; }
  const std::vector<float>& dense() const { return trainer_.dense; }
  uint64_t round() const { return round_; }

  // Any call of the coordinator.
  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(const std::string& method, const Request& request) {
    std::optional<absl::StatusOr<Reply>> reply;
    trainer_.client.Call<Reply>(
        static_cast<ShardIndex>(trainer_.client.owners()[0]), method, request, absl::Seconds(20),
        [&reply](absl::StatusOr<Reply> answer) { reply = std::move(answer); });
    while (!reply) trainer_.loop.Poll(absl::Seconds(1));
    return *std::move(reply);
  }

 private:
  template <typename Reply, typename Request>
  Reply MustCall(const std::string& method, const Request& request) {
    const absl::StatusOr<Reply> reply = Call<Reply>(method, request);
    EXPECT_TRUE(reply.ok()) << method << ": " << reply.status();
    return reply.ok() ? *reply : Reply();
  }
  RoundName Name() const { return {round_, &closed_}; }

  Trainer trainer_;
  const int lane_;
  const Generation generation_;
  uint64_t round_ = 0;
  RoundCommit closed_;
  uint32_t examples_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_RUNNER_H_
