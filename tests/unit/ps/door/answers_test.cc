#include "ps/door/answers.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/partition/catalog.h"

namespace capstan::ps {
namespace {

TEST(PushReactorTest, NoOtherThreadIsWokenForTheEndOfAPushThatReleasesNoPull) {
  PushReactor* const reactor = new PushReactor(ReleasedPulls());
  EXPECT_TRUE(reactor->InternalInlineable());
  reactor->OnDone();
}

TEST(PushReactorTest, PullsThatAPushReleasesGoOnAtItsEndOnAnotherThread) {
  constexpr TrainerId kTrainer{1};
  v1::JobSpec job;
  job.set_partition_count(1);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
  const Catalog catalog = *Catalog::Create(job);
  ClockShell clocks(catalog, nullptr);
  v1::View view;
  view.add_trainers()->set_trainer(Raw(kTrainer));
  clocks.SetQuorum(view);
  bool answered = false;
  const std::optional<WaiterId> waits =
      clocks.Wait(/*clock=*/1, absl::InfiniteFuture(), /*bytes=*/1,
                  [&answered](const absl::Status&) { answered = true; });
  ASSERT_TRUE(waits.has_value());
  PushReactor* const reactor =
      new PushReactor(clocks.OnFinished(kTrainer, /*clock=*/1, /*by=*/ViewEpoch{}));
  EXPECT_FALSE(reactor->InternalInlineable());
  EXPECT_FALSE(answered);
  reactor->OnDone();
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace capstan::ps
