#include "worker/shell/lease_calls.h"

#include <gtest/gtest.h>

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

// Opens rounds when it is allowed to, and remembers who asked.
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

  uint32_t asked_lane = 0;  // To be read once `asked` has been notified.
  absl::Notification asked;
  absl::Notification may_answer;
};

class IdleComputer : public Computer {
 public:
  void Submit(std::shared_ptr<Step>, Kind, absl::AnyInvocable<void()>) override {}
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
  template <typename Condition>
  void PollUntil(Condition condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) loop_.Poll(absl::Milliseconds(10));
    ASSERT_TRUE(condition());
  }

  const v1::JobSpec job_ = [] {
    v1::JobSpec job;
    job.set_partition_count(1);
    job.add_tensors()->add_shape(2);
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
