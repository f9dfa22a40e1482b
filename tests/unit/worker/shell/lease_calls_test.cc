#include "worker/shell/lease_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::worker {
namespace {

// Opens rounds when it is allowed to, and remembers who asked. Its parameters are 3 and 4.
class Coordinator : public v1::Ps::Service {
 public:
  grpc::Status OpenRound(grpc::ServerContext*, const v1::OpenRoundRequest* request,
                         v1::OpenRoundReply* reply) override {
    asked_lane = request->lane();
    asked.Notify();
    may_answer.WaitForNotification();
    reply->set_answer(v1::OpenRoundReply::ANSWER_OPEN);
    reply->set_round(7);
    return grpc::Status::OK;
  }

  grpc::Status Pull(grpc::ServerContext*, const v1::PullRequest* request,
                    v1::PullReply* reply) override {
    ++pulls;
    may_answer.WaitForNotification();
    const std::array<float, 2> values = {3, 4};
    v1::PartitionValues& partition = *reply->add_partitions();
    partition.set_dense_version(request->round());
    v1::BlockValues& block = *partition.add_blocks();
    block.set_block(request->partitions(0).blocks(0));
    block.set_values(values.data(), sizeof(values));
    return grpc::Status::OK;
  }

  std::atomic<int> pulls{0};
  uint32_t asked_lane = 0;  // To be read once `asked` has been notified.
  absl::Notification asked;
  absl::Notification may_answer;
};

// Keeps what it was handed, and computes nothing.
class IdleComputer : public Computer {
 public:
  void Submit(std::shared_ptr<Step> step, Kind, absl::AnyInvocable<void()>) override {
    submitted.push_back(std::move(step));
  }

  std::vector<std::shared_ptr<Step>> submitted;
};

struct Events final : public LeaseEvents {
  void Deliver(Event event) override { delivered.push_back(std::move(event)); }
  void OnReadFailed(const absl::Status& why) override { read_failed = why; }
  void OnComputeFailed(const absl::Status&) override {}
  void OnReadToEnd(const absl::Status& status) override { read_to_end = status; }

  std::vector<Event> delivered;
  absl::Status read_failed;
  std::optional<absl::Status> read_to_end;
};

class LeaseCallsTest : public ::testing::Test {
 protected:
  LeaseCallsTest() {
    v1::View view;
    view.mutable_epoch()->set_term(1);
    view.mutable_epoch()->set_n(1);
    view.set_timeline(1);
    view.add_owners(0);
    view.add_shards()->set_address(server_.address());
    client_.SetView(view);
  }
  ~LeaseCallsTest() override {
    if (!coordinator_.may_answer.HasBeenNotified()) coordinator_.may_answer.Notify();
  }

  std::unique_ptr<LeaseCalls> Begin(const v1::Lease& lease) {
    auto calls = std::make_unique<LeaseCalls>(context_, lease);
    calls->Begin(events_);
    return calls;
  }
  // A lease of a file with these records, a batch of two of which is a step.
  v1::Lease TaskOf(const std::string& text) {
    v1::Lease lease;
    lease.set_kind(v1::LEASE_KIND_TASK);
    lease.mutable_task()->set_file(folder_.Write("a.csv", text));
    lease.mutable_task()->set_end(text.size());
    return lease;
  }
  // Two lanes, each of which has read its first batch.
  std::vector<std::unique_ptr<LeaseCalls>> TwoLanes() {
    std::vector<std::unique_ptr<LeaseCalls>> lanes;
    for (uint32_t lane = 0; lane < 2; ++lane) {
      v1::Lease lease;
      lease.set_kind(v1::LEASE_KIND_LANE);
      lease.set_lane(lane);
      lease.set_timeline(1);
      *lease.add_lane_tasks()->mutable_task() = TaskOf("1,5\n0,6\n").task();
      lanes.push_back(Begin(lease));
      lanes.back()->Do(ReadBatch{.batch = 0});
    }
    PollUntil([this] { return events_.delivered.size() == 2; });
    events_.delivered.clear();
    return lanes;
  }
  static SendPull PullOf(Ticket ticket, uint64_t round) {
    SendPull pull{.ticket = ticket, .batch = 0};
    pull.lane = LaneName{.round = round};
    return pull;
  }
  // The tickets of the pulls that were answered.
  std::vector<Ticket> Pulled() const {
    std::vector<Ticket> tickets;
    for (const Event& event : events_.delivered) {
      const auto* done = std::get_if<PullDone>(&event);
      if (done != nullptr && done->status.ok()) tickets.push_back(done->ticket);
    }
    return tickets;
  }
  template <typename Condition>
  void PollUntil(Condition condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) loop_.Poll(absl::Milliseconds(10));
    ASSERT_TRUE(condition());
  }

  const v1::JobSpec job_ = [] {
    v1::JobSpec job;
    job.set_partition_count(1);
    job.add_tensors()->add_shape(2);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
    return job;
  }();
  static ReaderOptions Reader() {
    ReaderOptions options;
    options.data.set_format(v1::DATA_FORMAT_CSV);
    options.data.set_columns(2);
    options.data.add_numeric()->set_column(1);
    options.data.set_fields(1);
    options.loss = v1::LOSS_SQUARED;
    options.batch_size = 2;
    return options;
  }

  Coordinator coordinator_;
  const LocalService server_{coordinator_};
  const TestFolder folder_;
  const ParameterMap parameters_ = *ParameterMap::Create(job_);
  const SteadyClock clock_;
  EventLoop loop_;
  PsClient client_{
      loop_,
      parameters_,
      {.trainer = TrainerId{1}, .channels = std::make_shared<ProcessChannels>(/*tls=*/nullptr)}};
  IdleComputer computer_;
  BatchPrefetcher prefetcher_{
      Reader(), {.batches_ahead = 1}, NewDataFiles({.patience = absl::ZeroDuration()})};
  StepPool steps_{parameters_};
  SharedPulls shared_pulls_{loop_};
  GroupedExamples grouped_;
  StepTimes times_;
  const JobProgress progress_;
  metrics::Registry registry_;
  WorkerMetrics metrics_{registry_};
  const TrainerContext context_{.job = job_,
                                .parameters = parameters_,
                                .clock = clock_,
                                .loop = loop_,
                                .client = client_,
                                .compute = computer_,
                                .prefetcher = prefetcher_,
                                .steps = steps_,
                                .shared_pulls = shared_pulls_,
                                .grouped = grouped_,
                                .times = times_,
                                .progress = progress_,
                                .metrics = metrics_};
  Events events_;
};

TEST_F(LeaseCallsTest, AnOpenRoundIsAnEventAndIsTimedFromWhenItWasAskedFor) {
  coordinator_.may_answer.Notify();
  v1::Lease lane;
  lane.set_kind(v1::LEASE_KIND_LANE);
  const auto calls = Begin(lane);
  calls->Open({.ticket = 5, .lane = LaneIndex{3}, .wait = absl::Seconds(1)},
              /*asked=*/clock_.Now() - absl::Hours(1), std::nullopt);
  PollUntil([this] { return !events_.delivered.empty(); });
  EXPECT_EQ(coordinator_.asked_lane, 3U);
  const OpenDone& done = std::get<OpenDone>(events_.delivered[0]);
  EXPECT_EQ(done.ticket, 5U);
  EXPECT_EQ(done.round, 7U);
  EXPECT_GE(metrics_.round_wait_seconds.sum(), 3600);
}

TEST_F(LeaseCallsTest, NothingIsAnsweredOnceItIsGoneAndItsTurnIsOver) {
  WaitingTurns turns(1);
  v1::Lease lane;
  lane.set_kind(v1::LEASE_KIND_LANE);
  auto calls = Begin(lane);
  turns.Ask([&](WaitingTurns::Turn turn) {
    calls->Open({.ticket = 5, .wait = absl::Seconds(60)}, clock_.Now(), std::move(turn));
  });
  PollUntil([this] { return coordinator_.asked.HasBeenNotified(); });

  calls.reset();
  bool next = false;
  turns.Ask([&next](const WaitingTurns::Turn&) { next = true; });
  PollUntil([&next] { return next; });
  EXPECT_TRUE(events_.delivered.empty());
}

TEST_F(LeaseCallsTest, BatchesAreReadInTheirOrderUpToTheEnd) {
  const auto calls = Begin(TaskOf("1,5\n0,6\n1,7\n"));
  calls->Do(ReadBatch{.batch = 0});
  calls->Do(ReadBatch{.batch = 1});
  calls->Do(ReadBatch{.batch = 2});
  PollUntil([this] { return events_.delivered.size() == 3; });
  EXPECT_EQ(std::get<BatchRead>(events_.delivered[0]).examples, 2U);
  EXPECT_EQ(std::get<BatchRead>(events_.delivered[1]).seq, 1U);
  EXPECT_EQ(std::get<EndOfData>(events_.delivered[2]).batches, 2U);
  EXPECT_TRUE(calls->Needs(0, ShardIndex{0}));
  calls->Do(Forget{.batch = 0});
  EXPECT_FALSE(calls->Needs(0, ShardIndex{0}));
}

TEST_F(LeaseCallsTest, LanesThatPullTheSameMeanwhileAskTheShardOnce) {
  const auto lanes = TwoLanes();
  lanes[0]->Do(PullOf(/*ticket=*/11, /*round=*/7));
  lanes[1]->Do(PullOf(/*ticket=*/12, /*round=*/7));
  coordinator_.may_answer.Notify();
  PollUntil([this] { return Pulled().size() == 2; });
  EXPECT_EQ(Pulled(), (std::vector<Ticket>{11, 12})) << "the lower lane first";
  EXPECT_EQ(coordinator_.pulls, 1);
  for (const auto& lane : lanes) lane->Do(Compute{.batch = 0});
  ASSERT_EQ(computer_.submitted.size(), 2U);
  for (const auto& step : computer_.submitted) {
    EXPECT_EQ(step->parameters, (std::vector<float>{3, 4}));
    EXPECT_EQ(step->versions[0][0], 7U);
  }
  EXPECT_NE(computer_.submitted[0]->parameters.data(), computer_.submitted[1]->parameters.data());
}

TEST_F(LeaseCallsTest, LanesOfDifferentRoundsPullByThemselves) {
  const auto lanes = TwoLanes();
  coordinator_.may_answer.Notify();
  lanes[0]->Do(PullOf(11, 7));
  lanes[1]->Do(PullOf(12, 8));
  PollUntil([this] { return Pulled().size() == 2; });
  EXPECT_EQ(coordinator_.pulls, 2);
}

TEST_F(LeaseCallsTest, ALaneIsToldThatTheOneThatPulledForItIsGoneAndPullsByItself) {
  auto lanes = TwoLanes();
  lanes[0]->Do(PullOf(11, 7));
  lanes[1]->Do(PullOf(12, 7));
  lanes[0].reset();
  PollUntil([this] { return !events_.delivered.empty(); });
  const PullDone& failed = std::get<PullDone>(events_.delivered[0]);
  EXPECT_EQ(failed.ticket, 12U);
  EXPECT_TRUE(absl::IsUnavailable(failed.status)) << "which its runner tries again";
  coordinator_.may_answer.Notify();
  lanes[1]->Do(PullOf(13, 7));
  PollUntil([this] { return !Pulled().empty(); });
  EXPECT_EQ(Pulled(), (std::vector<Ticket>{13}));
}

TEST_F(LeaseCallsTest, ABatchThatCannotBeReadIsTold) {
  v1::Lease lease = TaskOf("1,5\n");
  lease.mutable_task()->set_file("/nowhere/a.csv");
  const auto calls = Begin(lease);
  calls->Do(ReadBatch{.batch = 0});
  PollUntil([this] { return !events_.read_failed.ok(); });
  EXPECT_NE(events_.read_failed.message().find("/nowhere/a.csv"), std::string::npos);
}

}  // namespace
}  // namespace capstan::worker
