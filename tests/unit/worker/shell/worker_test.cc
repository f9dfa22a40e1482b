// A worker process between its registration and its end, and its chief.
#include "worker/shell/worker.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/rpc/channel.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::worker {
namespace {

// Hears workers, gives no leases, and tells no views. Thread-safe.
class HearingChief final : public v1::Chief::Service {
 public:
  grpc::Status WorkerHeartbeat(grpc::ServerContext*, const v1::WorkerHeartbeatRequest* request,
                               v1::WorkerHeartbeatReply* reply) override {
    absl::MutexLock lock(&mu_);
    heartbeats_.push_back(*request);
    reply->set_known(knows_);
    return grpc::Status::OK;
  }
  grpc::Status RegisterWorker(grpc::ServerContext*, const v1::RegisterWorkerRequest* request,
                              v1::RegisterWorkerReply* reply) override {
    absl::MutexLock lock(&mu_);
    registrations_.push_back(*request);
    *reply = registration_;
    return grpc::Status::OK;
  }
  grpc::Status WatchView(grpc::ServerContext*, const v1::WatchViewRequest*,
                         grpc::ServerWriter<v1::View>*) override {
    return {grpc::StatusCode::UNAVAILABLE, "no views"};
  }

  // It does not know the worker, and gives it this when it registers.
  void Forget(const v1::RegisterWorkerReply& registration) {
    absl::MutexLock lock(&mu_);
    knows_ = false;
    registration_ = registration;
  }
  std::vector<v1::WorkerHeartbeatRequest> heartbeats() const {
    absl::MutexLock lock(&mu_);
    return heartbeats_;
  }
  std::vector<v1::RegisterWorkerRequest> registrations() const {
    absl::MutexLock lock(&mu_);
    return registrations_;
  }

 private:
  mutable absl::Mutex mu_;
  bool knows_ ABSL_GUARDED_BY(mu_) = true;
  v1::RegisterWorkerReply registration_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::WorkerHeartbeatRequest> heartbeats_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::RegisterWorkerRequest> registrations_ ABSL_GUARDED_BY(mu_);
};

// Computes nothing, as there are no leases; or cannot be had.
class NoModel final : public ModelSource {
 public:
  absl::StatusOr<const DeclaredModel*> Declare(const v1::JobSpec&) override {
    return absl::FailedPreconditionError("no program");
  }
  absl::StatusOr<std::unique_ptr<Computer>> NewComputer(const v1::JobSpec&, const ComputeOptions&,
                                                        EventLoop&) override {
    if (!error.ok()) return error;
    return std::make_unique<Nothing>();
  }

  absl::Status error;

 private:
  class Nothing final : public Computer {
   public:
    void Submit(std::shared_ptr<Step>, Kind, absl::AnyInvocable<void()>) override {}
  };
};

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    v1::JobSpec& job = *registration_.mutable_job();
    job.set_partition_count(1);
    job.add_tensors()->add_shape(2);
    job.mutable_lease()->set_heartbeat_seconds(0.01);
    for (const uint64_t trainer : {5, 6}) registration_.add_trainers(trainer);
  }

  absl::StatusOr<std::unique_ptr<Worker>> Create() {
    return Worker::Create({.name = "w-0",
                           .incarnation = Incarnation{77},
                           .declaration = &declaration_,
                           .drain = absl::Minutes(1)},
                          registration_, model_, loop_, NewPlainChannel(server_.address()),
                          metrics_);
  }

  HearingChief chief_;
  const LocalService server_{chief_};
  v1::RegisterWorkerReply registration_;
  v1::ModelDeclaration declaration_;
  NoModel model_;
  EventLoop loop_;
  metrics::Registry registry_;
  WorkerMetrics metrics_{registry_};
  Shutdown shutdown_;
};

TEST_F(WorkerTest, AJobThatCannotBeComputedHereIsToldAndNothingIsBegun) {
  model_.error = absl::AbortedError("built for another job");
  EXPECT_EQ(Create().status(), model_.error);
  model_.error = absl::OkStatus();
  registration_.mutable_job()->set_partition_count(0);
  EXPECT_TRUE(absl::IsInvalidArgument(Create().status()));
  EXPECT_TRUE(chief_.heartbeats().empty());
}

TEST_F(WorkerTest, AskedToStopItTellsTheChiefThatItLeavesAndWhatItHasSeen) {
  auto worker = Create();
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_EQ(metrics_.compute_threads.value(), 2);
  metrics_.nonfinite.Add(3);
  metrics_.late_gradients.Add(4);
  shutdown_.Request();
  EXPECT_EQ((*worker)->Run(shutdown_), WorkerEnd::kDrained);
  ASSERT_FALSE(chief_.heartbeats().empty());
  const v1::WorkerHeartbeatRequest last = chief_.heartbeats().back();
  EXPECT_TRUE(last.draining());
  EXPECT_EQ(last.report().nonfinite_gradients(), 3u);
  EXPECT_EQ(last.report().late_gradients(), 4u);
}

TEST_F(WorkerTest, WhereAnotherChiefGivesItsNumbersToOthersThisWorkerIsOver) {
  declaration_.set_declared_by("w-0");
  auto worker = Create();
  ASSERT_TRUE(worker.ok()) << worker.status();
  v1::RegisterWorkerReply other = registration_;
  other.set_trainers(0, 99);
  chief_.Forget(other);
  EXPECT_EQ((*worker)->Run(shutdown_), WorkerEnd::kUnknown);
  ASSERT_FALSE(chief_.registrations().empty()) << "twice, if it was told so again meanwhile";
  const v1::RegisterWorkerRequest request = chief_.registrations().front();
  EXPECT_EQ(request.name(), "w-0");
  EXPECT_EQ(request.incarnation(), 77u);
  EXPECT_EQ(request.declaration().declared_by(), "w-0") << "the model of its program";
  EXPECT_EQ(request.trainers_size(), 2) << "those that it had";
}

}  // namespace
}  // namespace capstan::worker
