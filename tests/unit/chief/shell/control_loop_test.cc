// The chief's machine behind its loop: what is done outside of the machine, and who is answered.
#include "chief/shell/control_loop.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

// No time passes, and nobody is where the crew's shards are said to be.
class ControlLoopTest : public testing::Test {
 protected:
  // Goes on with the machine of a crew.
  void Begin(ChiefMachine machine) {
    control_.emplace(std::move(machine), ControlLoop::Parts{.clock = clock_,
                                                            .views = views_,
                                                            .curve = *curve_,
                                                            .store = &store_,
                                                            .housekeeping = housekeeping_,
                                                            .metrics = metrics_});
  }
  // A job of two shards that trains.
  static ChiefMachine Training(const CrewOptions& options) {
    Crew crew(options);
    crew.RegisterShards();
    EXPECT_EQ(crew.Status().state(), v1::JOB_STATE_RUNNING);
    return crew.machine;
  }

  // Time passes, slowly for the crew's shards, until `question` is answered so.
  template <typename Question>
  void Until(const Question& question) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!control_->Run([&](ChiefMachine& chief, absl::Time) { return question(chief); })) {
      ASSERT_LT(absl::Now(), deadline);
      absl::SleepFor(absl::Milliseconds(1));
      clock_.Advance(absl::Milliseconds(10));
    }
  }
  // Something that the store is to hold.
  void StopJob() {
    control_->Run([](ChiefMachine& chief, absl::Time now) { chief.StopJob("enough", now); });
  }
  // What the store holds, as the next chief reads it.
  std::optional<v1::ChiefState> Stored() const {
    JobStore reader(std::make_unique<FaultyObjectStore>(*folder_), nullptr);
    return reader.ReadState().value();
  }

  FakeClock clock_;
  metrics::Registry registry_;
  ChiefMetrics metrics_{registry_, PlanOf(CrewOptions()).spec, /*shards=*/2};
  StoreThread housekeeping_{/*most_waiting=*/4};
  const std::unique_ptr<CurveFile> curve_ =
      *OpenCurveFile(PlanOf(CrewOptions()).spec, /*anew=*/true, housekeeping_);
  ViewFeed views_{8};
  const std::unique_ptr<ObjectStore> folder_ = MakeMemoryObjectStore();
  FaultyObjectStore* const faults_ = new FaultyObjectStore(*folder_);  // Owned by store_.
  JobStore store_{std::unique_ptr<ObjectStore>(faults_), nullptr};
  std::optional<ControlLoop> control_;
};

TEST_F(ControlLoopTest, WhoIsRefusedACheckpointMayTurnToTheChiefAtOnce) {
  Begin(Training({}));
  absl::Notification answered;
  absl::Status told;
  v1::JobState state{};
  control_->TakeCheckpoint([&](const absl::StatusOr<std::string>& uri) {
    told = uri.status();
    state = control_->Status().state();  // It would wait for ever within an event.
    answered.Notify();
  });
  answered.WaitForNotification();
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_EQ(state, v1::JOB_STATE_RUNNING);
}

// A server that ends waits for each call that it has taken.
TEST_F(ControlLoopTest, WhenTheProcessEndsWhoWaitsForACheckpointIsAnsweredAndSoIsWhoComesThen) {
  Begin(Training(TenTasks()));
  std::optional<absl::Status> waiting;
  control_->TakeCheckpoint([&](const absl::StatusOr<std::string>& uri) { waiting = uri.status(); });
  EXPECT_FALSE(waiting.has_value()) << *waiting;
  control_->AnswerAskers();
  EXPECT_EQ(waiting, absl::UnavailableError("the chief stops"));
  std::optional<absl::Status> late;
  control_->TakeCheckpoint([&](const absl::StatusOr<std::string>& uri) { late = uri.status(); });
  EXPECT_EQ(late, absl::UnavailableError("the chief stops"));
}

TEST_F(ControlLoopTest, WhatTheMachineSaysIsStoredIsInTheStore) {
  Begin(Training(TenTasks()));
  StopJob();
  EXPECT_FALSE(control_->Run([](ChiefMachine& chief, absl::Time) { return chief.stored(); }));
  Until([](ChiefMachine& chief) { return chief.stored(); });
  const std::optional<v1::ChiefState> stored = Stored();
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(stored->term(), 1u);
}

TEST_F(ControlLoopTest, AChiefThatFindsTheStateOfAnotherOneIsSupersededAndLeavesItThere) {
  v1::ChiefState other;
  other.set_term(2);
  JobStore second(std::make_unique<FaultyObjectStore>(*folder_), nullptr);
  ASSERT_EQ(second.WriteState(other), absl::OkStatus());
  Begin(Training(TenTasks()));
  StopJob();
  Until([](ChiefMachine& chief) { return chief.superseded(); });
  EXPECT_EQ(Stored()->term(), 2u);
}

TEST_F(ControlLoopTest, WhileTheStoreIsAwayTheLastWriteTellsSoAndItIsTriedAgain) {
  faults_->FailAlways(absl::UnavailableError("the bucket is away"));
  Begin(Training(TenTasks()));
  StopJob();
  Until([](ChiefMachine& chief) { return absl::IsUnavailable(chief.last_store()); });
  EXPECT_FALSE(Stored().has_value());
  faults_->Heal();
  Until([](ChiefMachine& chief) { return chief.last_store().ok() && chief.stored(); });
  EXPECT_TRUE(Stored().has_value());
}

}  // namespace
}  // namespace capstan::chief
