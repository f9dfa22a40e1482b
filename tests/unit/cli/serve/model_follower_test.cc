#include "cli/serve/model_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;

// The looks, counted from one, at which a version is read that cannot be taken for this reason.
// They are ten seconds apart, and it is told once.
std::vector<int> LooksThatRead(const absl::Status& why, int looks) {
  const DeepFmFolder folder;
  InferenceService service("ctr");
  FakeClock clock;
  int look = 0;
  std::vector<int> read;
  std::vector<std::string> told;
  FollowerOptions options = {.uri = folder.path()};
  options.load = [&](const std::string&) {
    read.push_back(look);
    return why;
  };
  options.ends = [&](absl::Duration pause) {
    clock.Advance(pause);
    return ++look > looks;
  };
  options.failed = [&](const absl::Status& status) { told.emplace_back(status.message()); };
  {
    const ModelFollower follower(options, service, clock);
    EXPECT_TRUE(follower.WaitForEnd(absl::Minutes(1)));
  }
  EXPECT_EQ(service.model(), nullptr);
  EXPECT_THAT(told, ElementsAre(std::string(why.message())));
  return read;
}

TEST(ModelFollowerTest, AVersionThatDoesNotFitIsReadOnceInFiveLooks) {
  EXPECT_THAT(LooksThatRead(absl::FailedPreconditionError("no program"), 5), ElementsAre(1));
  EXPECT_THAT(LooksThatRead(absl::InvalidArgumentError("no such job"), 5), ElementsAre(1));
}

TEST(ModelFollowerTest, AVersionThatCannotBeReadIsReadAgainAfterLongerAndLongerPauses) {
  EXPECT_THAT(LooksThatRead(absl::DataLossError("a file is gone"), 16),
              ElementsAre(1, 2, 4, 8, 16));
}

// Answers when it may, and notes the thread that frees it.
class HeldScorer : public BatchScorer {
 public:
  struct Held {
    absl::Notification asked, may_answer, freed;
    std::thread::id freed_by;
  };

  explicit HeldScorer(Held& held) : held_(held) {}
  ~HeldScorer() override {
    held_.freed_by = std::this_thread::get_id();
    held_.freed.Notify();
  }

  absl::StatusOr<std::vector<float>> Logits(const Batch& batch) override {
    held_.asked.Notify();
    held_.may_answer.WaitForNotification();
    return std::vector<float>(batch.examples());
  }
  bool ready() const override { return true; }

 private:
  Held& held_;
};

std::shared_ptr<ServedModel> Held(const std::string& folder, HeldScorer::Held& held) {
  auto model = ServedModel::Make(
      folder, *FinishedModel::Load(folder),
      [&held](const FinishedModel&) -> absl::StatusOr<std::unique_ptr<BatchScorer>> {
        return std::make_unique<HeldScorer>(held);
      });
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

HttpQuestion NoRecords() {
  return {.method = "POST",
          .path = "/v2/models/ctr/infer",
          .body =
              "{\"inputs\":[{\"name\":\"records\",\"datatype\":\"BYTES\",\"shape\":[0],"
              "\"data\":[]}]}"};
}

TEST(ModelFollowerTest, ItFreesTheVersionBeforeAndNotTheLastRequestThatHasIt) {
  const DeepFmFolder older, newer;
  HeldScorer::Held held, next;
  std::thread::id follower_thread;
  absl::Notification looks_on, over;
  {
    InferenceService service("ctr");
    service.Replace(Held(older.path(), held));
    std::thread request([&service] { EXPECT_EQ(service.Answer(NoRecords()).status, 200); });
    held.asked.WaitForNotification();
    FollowerOptions options = {.uri = newer.path(), .at_once = true};
    options.load = [&next](const std::string& folder) { return Held(folder, next); };
    options.taken = [&follower_thread](const ServedModel&) {
      follower_thread = std::this_thread::get_id();
    };
    options.ends = [&](absl::Duration pause) {
      if (!looks_on.HasBeenNotified()) looks_on.Notify();
      return over.WaitForNotificationWithTimeout(pause);
    };
    const SteadyClock clock;
    const ModelFollower follower(options, service, clock);
    looks_on.WaitForNotification();
    EXPECT_FALSE(held.freed.HasBeenNotified());
    held.may_answer.Notify();
    request.join();
    EXPECT_TRUE(held.freed.WaitForNotificationWithTimeout(absl::Seconds(30)));
    EXPECT_EQ(held.freed_by, follower_thread);
    over.Notify();
  }
  EXPECT_TRUE(next.freed.HasBeenNotified());
}

TEST(ModelFollowerTest, WhatARequestHasAtTheEndIsFreedWithTheFollower) {
  const DeepFmFolder older, newer;
  HeldScorer::Held held, next;
  InferenceService service("ctr");
  service.Replace(Held(older.path(), held));
  std::thread request([&service] { EXPECT_EQ(service.Answer(NoRecords()).status, 200); });
  held.asked.WaitForNotification();
  FollowerOptions options = {.uri = newer.path(), .at_once = true};
  options.load = [&next](const std::string& folder) { return Held(folder, next); };
  options.taken = [](const ServedModel&) {};
  options.ends = [](absl::Duration) { return true; };
  const SteadyClock clock;
  {
    const ModelFollower follower(options, service, clock);
    EXPECT_TRUE(follower.WaitForEnd(absl::Minutes(1)));
    held.may_answer.Notify();
    request.join();
    EXPECT_FALSE(held.freed.HasBeenNotified());
  }
  EXPECT_TRUE(held.freed.HasBeenNotified());
  EXPECT_EQ(held.freed_by, std::this_thread::get_id());
}

}  // namespace
}  // namespace capstan::cli
