#include "worker/shell/trainer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::worker {
namespace {

// A coordinator that leaves the question for a round unanswered, as while a round is open.
class SilentCoordinator : public v1::Ps::Service {
 public:
  grpc::Status OpenRound(grpc::ServerContext*, const v1::OpenRoundRequest*,
                         v1::OpenRoundReply*) override {
    if (!asked.HasBeenNotified()) asked.Notify();
    over.WaitForNotification();
    return grpc::Status::OK;
  }

  absl::Notification asked;
  absl::Notification over;
};

class NoComputer : public Computer {
 public:
  void Submit(std::shared_ptr<Step>, Kind, absl::AnyInvocable<void()>) override {}
};

v1::JobSpec JobOfOneTensor() {
  v1::JobSpec job;
  job.set_partition_count(1);
  job.add_tensors()->add_shape(2);
  return job;
}

v1::View ViewOf(const std::string& address) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(1);
  view.set_timeline(1);
  view.add_owners(0);
  view.add_shards()->set_address(address);
  return view;
}

TEST(TrainerTest, ItsEndDoesNotWaitForACoordinatorThatDoesNotAnswer) {
  SilentCoordinator coordinator;
  const LocalService server(coordinator);

  const v1::JobSpec job = JobOfOneTensor();
  const ParameterMap parameters = *ParameterMap::Create(job);
  const SteadyClock clock;
  EventLoop loop;
  BatchPrefetcher prefetcher({}, {.batches_ahead = 1},
                             NewDataFiles({.patience = absl::ZeroDuration()}));
  StepPool steps(parameters);
  WaitingTurns waiting_opens(1);
  ReadAhead read_ahead({.batches = 2, .bytes = 1 << 20});
  GroupedExamples grouped;
  const JobProgress progress;
  metrics::Registry registry;
  WorkerMetrics metrics(registry);
  const WorkerContext context{.job = job,
                              .parameters = parameters,
                              .clock = clock,
                              .loop = loop,
                              .prefetcher = prefetcher,
                              .steps = steps,
                              .waiting_opens = waiting_opens,
                              .read_ahead = read_ahead,
                              .grouped = grouped,
                              .progress = progress,
                              .metrics = metrics};
  auto trainer = std::make_unique<Trainer>(context, TrainerId{1},
                                           std::make_shared<ProcessChannels>(/*tls=*/nullptr),
                                           std::make_unique<NoComputer>());
  trainer->OnView(ViewOf(server.address()), {});
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_LANE);
  lease.set_timeline(1);
  trainer->leases().Grant(lease);
  for (int i = 0; i < 1000 && !coordinator.asked.HasBeenNotified(); ++i) {
    loop.Poll(absl::Milliseconds(10));
  }
  ASSERT_TRUE(coordinator.asked.HasBeenNotified());

  const absl::Time begin = absl::Now();
  trainer.reset();
  while (loop.calls_under_way() > 0) loop.Poll(absl::Milliseconds(10));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  coordinator.over.Notify();
}

}  // namespace
}  // namespace capstan::worker
