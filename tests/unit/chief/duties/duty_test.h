// A job for the tests of single duties: the facts of one, which a test brings into the state that
// it is about, and a recorder of what a duty orders. Of that only the view is carried out, of which
// everybody hears at once.
#ifndef TESTS_UNIT_CHIEF_DUTIES_DUTY_TEST_H_
#define TESTS_UNIT_CHIEF_DUTIES_DUTY_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/wire_version.h"
#include "chief/duties/duty.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {

class RecordedOrders : public Orders {
 public:
  void ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time) override {
    orders.push_back(absl::StrCat("return: ", std::string(cause), " (", shard, ")"));
  }
  void GoOnFromCheckpoint(std::string_view cause, absl::Time) override {
    orders.push_back(absl::StrCat("go on: ", std::string(cause)));
  }
  void RecoverPartially(uint32_t shard, absl::Time) override {
    orders.push_back(absl::StrCat("recover partially: ", shard));
  }
  void GiveUpPartialRecovery(const absl::Status& why, absl::Time) override {
    orders.push_back(absl::StrCat("give up partial recovery: ", why.message()));
  }
  void CancelMoves(const absl::Status& why, absl::Time) override {
    orders.push_back(absl::StrCat(absl::IsCancelled(why) ? "cancel moves: " : "moves have failed: ",
                                  why.message()));
  }
  void RefreshView(absl::Time) override { publish(); }

  std::vector<std::string> orders;
  std::function<void()> publish;  // The view as it is.
};

class DutyTest : public testing::Test {
 protected:
  // The job of a Crew with these options; nothing is stored anywhere, so what is noted is stored.
  explicit DutyTest(const CrewOptions& options = TenTasks())
      : job_({.term = 5, .run_id = 1, .seal_key = "the key", .shards = options.shards},
             PlanOf(options), {}, now_) {
    orders_.publish = [this] { Publish(); };
  }

  // So many shards are there, own the job's partitions, and train in the job's first timeline.
  void Run(uint32_t shards) {
    std::set<uint32_t> owners;
    for (uint32_t index = 0; index < shards; ++index) {
      AddShard(index);
      owners.insert(index);
    }
    job_.placement.views.MakeMap(job_.plan.spec.partition_count(), owners);
    job_.placement.views.SetTimeline(job_.recovery.next_timeline++);
    job_.state = v1::JOB_STATE_RUNNING;
    for (uint32_t index : owners)
      job_.placement.shards.Find(index)->loaded_timeline = job_.placement.timeline();
    Publish();
  }

  // Partition 0 is copied and ready to change its owner, for which it wants quiet.
  void CopyPartition0() {
    PartitionMoves& moves = job_.placement.moves;
    moves.Plan({PlannedMove{.partition = 0, .from = 0, .to = 1}}, "shard 1 has joined");
    moves.Begin([](const PlannedMove&) { return uint64_t{1}; }, now_);
    v1::View view;
    view.add_moves()->set_to(1);
    moves.OnView(view, now_, job_.calls);
    v1::MovePartitionsReply copied;
    copied.set_copied(true);
    moves.OnAnswer(0, ShardReply(copied), now_, job_.calls);
    moves.OnAnswer(0, ShardReply(copied), now_, job_.calls);  // It has caught up.
    EXPECT_TRUE(moves.wants_quiet());
  }

  // The shard is there, as its first process or another one.
  void AddShard(uint32_t index, uint64_t incarnation = 0) {
    v1::RegisterShardRequest request;
    request.set_wire_version(kWireVersion);
    request.set_index(index);
    request.set_address(absl::StrCat("shard-", index, ":1"));
    request.set_incarnation(incarnation == 0 ? 100 + index : incarnation);
    EXPECT_TRUE(job_.placement.shards.Register(request, now_).ok());
  }
  Shard& shard(uint32_t index) { return *job_.placement.shards.Find(index); }

  Worker& AddWorker(const std::string& name) {
    v1::RegisterWorkerRequest request;
    request.set_wire_version(kWireVersion);
    request.set_name(name);
    request.set_incarnation(++workers_);
    const auto registration = job_.training.workers.Register(request, "", now_);
    EXPECT_TRUE(registration.ok()) << registration.status();
    for (Trainer& trainer : registration->worker->trainers) trainer.wants_lease = true;
    return *registration->worker;
  }

  // The shard backs these partitions up.
  void Pair(const std::vector<uint32_t>& partitions, uint32_t backup) {
    std::vector<v1::PartitionMove> moves;
    for (uint32_t partition : partitions) {
      v1::PartitionMove& move = moves.emplace_back();
      move.set_partition(partition);
      move.set_to(backup);
      move.set_to_incarnation(Raw(shard(backup).incarnation));
      move.set_replica(true);
    }
    job_.placement.views.SetMoves(moves);
    Publish();
    job_.placement.views.CarryOutMoves();
    Publish();
  }

  // The view orders that the partition's owner hands it over to this shard, its backup.
  void OrderHandOver(uint32_t partition, uint32_t to) {
    v1::PartitionMove move;
    move.set_partition(partition);
    move.set_to(to);
    move.set_to_incarnation(Raw(shard(to).incarnation));
    move.set_hand_over(true);
    job_.placement.views.SetMoves({move});
    Publish();
  }

  // Everybody hears of the view as it is.
  void Publish() {
    job_.placement.views.Update(job_.state, job_.placement.shards, job_.training.workers);
    job_.placement.gate.Offer(job_.placement.views.current(), job_.writer);
    (void)job_.placement.gate.Take(job_.writer);
  }

  // The calls that are due now, by the name of what they are for.
  std::vector<CallShard> Calls() {
    return job_.calls.TakeDue(job_.placement.gate.published(), job_.placement.shards, now_);
  }

  // Returns true if the coordinator is told now to let rounds go on.
  bool Releases() {
    for (const CallShard& call : Calls()) {
      const auto* const hold = call.request.As<v1::HoldRoundsRequest>();
      if (hold != nullptr && call.shard == job_.placement.views.coordinator()) return !hold->hold();
    }
    return false;
  }

  // What the job has asked for since the last call, of one kind.
  template <typename Kind>
  std::vector<Kind> Taken() {
    std::vector<Kind> taken;
    for (Action& action : job_.outbox.Take()) {
      if (Kind* kind = std::get_if<Kind>(&action)) taken.push_back(std::move(*kind));
    }
    return taken;
  }
  // The sentence about this that people are shown; empty: none.
  std::string Warning(std::string_view about) const {
    const auto& all = job_.outbox.warnings().all();
    const auto found = all.find(about);
    return found == all.end() ? "" : found->second;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  RecordedOrders orders_;
  JobContext job_;

 private:
  uint64_t workers_ = 0;
};

}  // namespace capstan::chief

#endif  // TESTS_UNIT_CHIEF_DUTIES_DUTY_TEST_H_
