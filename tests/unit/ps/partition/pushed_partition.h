// A partition that is pushed to, for the tests of what becomes of it.
#ifndef CAPSTAN_TESTS_UNIT_PS_PARTITION_PUSHED_PARTITION_H_
#define CAPSTAN_TESTS_UNIT_PS_PARTITION_PUSHED_PARTITION_H_

#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/machine_state.h"
#include "ps/partition/partition.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {

// The only partition of its job, with a table of one column, from 0, SGD with rate 1.
class PushedPartition {
 public:
  static constexpr Timeline kTimeline{1};
  static constexpr absl::Time kTime = absl::UnixEpoch();

  // Of two lanes, if the policy is synchronous.
  static v1::JobSpec JobOf(v1::PolicyKind policy) {
    v1::JobSpec job;
    job.set_job("pushed");
    job.set_partition_count(1);
    job.mutable_sparse_update()->set_kind(policy);
    job.mutable_sparse_update()->set_lanes(2);
    job.mutable_dense_update()->set_kind(policy);
    job.mutable_dense_update()->set_lanes(2);
    AddOneColumn(job);
    return job;
  }

  explicit PushedPartition(v1::PolicyKind policy) : PushedPartition(JobOf(policy)) {}
  explicit PushedPartition(const v1::JobSpec& job)
      : catalog_(*Catalog::Create(job)),
        metrics_(registry_),
        partition_(PartitionIndex{0},
                   {catalog_, rounds_, counted_, metrics_, slabs_, kept_, put_off_}) {
    LoadAnew();
    rounds_.Reset(kTimeline, 0);
  }

  // The partition begins with its initial values.
  void LoadAnew() {
    absl::StatusOr<PartitionContent> content =
        InitialContent(catalog_, PartitionIndex{0}, kTimeline, slabs_);
    CAPSTAN_CHECK(content.ok());
    partition_.Load(*std::move(content));
  }

  // As LoadAnew(), but as the backup of a pair whose owner Tell() stands for.
  void AdoptAnew() {
    absl::StatusOr<PartitionContent> content =
        InitialContent(catalog_, PartitionIndex{0}, kTimeline, slabs_);
    CAPSTAN_CHECK(content.ok());
    partition_.Adopt(*std::move(content), kPair);
  }

  // A gradient of -1 for the key's row.
  v1::Outcome Push(uint64_t key, uint64_t seq) { return Send(Streamed(key, seq)); }
  // The owner has applied that push, the last of its first `seq` + 1.
  absl::Status Tell(uint64_t key, uint64_t seq) {
    v1::Operation operation;
    operation.mutable_pair()->set_term(kPair.term);
    operation.mutable_pair()->set_n(kPair.n);
    operation.mutable_push()->set_sparse(v1::OUTCOME_APPLIED);
    operation.mutable_push()->set_sparse_version(seq + 1);
    return partition_.Replay(operation, {Read(Streamed(key, seq)), 0}, kTime);
  }

  // Both lanes' gradients for the key's row, and the round is closed with them. The round that the
  // partition has passed.
  uint64_t DoRound(uint64_t round, uint64_t key) { return CloseRound(StageRound(round, key)); }

  RoundCommit StageRound(uint64_t round, uint64_t key) {
    RoundCommit set{.round = round, .lanes = {}};
    for (uint32_t lane : {0, 1}) {
      v1::PushRequest push = Gradient(key);
      push.mutable_stage()->set_lane(lane);
      push.mutable_stage()->mutable_generation()->set_count(1 + lane);
      push.mutable_stage()->set_round(round);
      EXPECT_EQ(Send(push), v1::OUTCOME_STAGED);
      set.lanes.push_back({.lane = LaneIndex{static_cast<int32_t>(lane)},
                           .generation = {0, 1 + lane},
                           .examples = 1});
    }
    return set;
  }
  uint64_t CloseRound(const RoundCommit& set) {
    rounds_.Learn(kTimeline, set, [] { return false; });
    return partition_.CatchUp(kTime);
  }

  // What is to read a copy that has begun, and the rows in the file that it makes.
  PartitionEncoder EncoderOf(const PartitionCopy& copy) const {
    return PartitionEncoder({.partition_count = 1,
                             .timeline = Raw(kTimeline),
                             .machine = EncodeMachineState(copy.state)});
  }
  std::vector<std::pair<uint64_t, float>> RowsIn(const std::string& file) const {
    const auto decoded =
        DecodePartition(file, catalog_.job(), catalog_.layout(), PartitionIndex{0});
    CAPSTAN_CHECK(decoded.ok());
    std::vector<std::pair<uint64_t, float>> rows;
    decoded->store->tables()[0]->ForEachRow(
        [&](const RowState& row) { rows.emplace_back(row.key, row.state[0]); });
    return rows;
  }
  std::vector<std::pair<uint64_t, float>> ReadCopy(const PartitionCopy& copy) {
    PartitionEncoder encoder = EncoderOf(copy);
    while (encoder.Prepare()) {
      EXPECT_TRUE(partition_.ReadCopy([&](PartitionStore& store) { encoder.Read(store); }));
    }
    return RowsIn(std::move(encoder).TakeRest());
  }

  Partition& partition() { return partition_; }
  KeptBytes& kept() { return kept_; }
  std::string metrics() const { return registry_.Text(); }

 private:
  static constexpr ViewEpoch kPair{.term = 1, .n = 5};

  static v1::PushRequest Streamed(uint64_t key, uint64_t seq) {
    v1::PushRequest push = Gradient(key);
    push.mutable_stream()->set_stream(7);
    push.mutable_stream()->set_seq(seq);
    push.mutable_stream()->set_low_watermark(seq);
    return push;
  }
  static v1::PushRequest Gradient(uint64_t key) {
    constexpr float kGradient = -1;
    v1::PushRequest push;
    push.mutable_header()->set_timeline(Raw(kTimeline));
    push.set_examples(1);
    v1::TableGradient& rows = *push.add_partitions()->add_tables();
    rows.set_table(1);
    rows.set_keys(&key, sizeof(key));
    rows.set_values(&kGradient, sizeof(kGradient));
    return push;
  }

  std::shared_ptr<const PushMessage> Read(const v1::PushRequest& push) {
    const grpc::Slice slice(push.SerializeAsString());
    auto message =
        PushMessage::Read(grpc::ByteBuffer(&slice, 1), catalog_, waiting_.TryHold(slice.size()));
    CAPSTAN_CHECK(message.ok());
    return *std::move(message);
  }
  v1::Outcome Send(const v1::PushRequest& push) {
    ReplicaWait nobody;
    return partition_.Push(Read(push), 0, /*progress_examples=*/0, kTime, nobody).sparse();
  }

  metrics::Registry registry_;
  const Catalog catalog_;
  ByteBudget waiting_;
  Rounds rounds_;
  CountedLanes counted_;
  ShardMetrics metrics_;
  SlabArena slabs_;
  KeptBytes kept_;
  std::atomic<size_t> put_off_{0};
  Partition partition_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_UNIT_PS_PARTITION_PUSHED_PARTITION_H_
