#include "cli/serve/model_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
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

// A request has the version before when a newer one is there to be taken.
class NewerVersionTest : public testing::Test {
 protected:
  NewerVersionTest() {
    service_->Replace(Held(older_.path(), held_));
    request_ = std::thread([this] { EXPECT_EQ(service_->Answer(NoRecords()).status, 200); });
    held_.asked.WaitForNotification();
    options_.load = [this](const std::string& folder) { return Held(folder, next_); };
  }

  void LetRequestEnd() {
    held_.may_answer.Notify();
    request_.join();
  }

  const DeepFmFolder older_, newer_;
  HeldScorer::Held held_, next_;
  const SteadyClock clock_;
  std::optional<InferenceService> service_{"ctr"};
  FollowerOptions options_ = {.uri = newer_.path(), .at_once = true};
  std::thread request_;
};

TEST_F(NewerVersionTest, TheVersionBeforeIsFreedByTheFollowerAndNotByTheLastRequestThatHasIt) {
  std::thread::id follower_thread;
  absl::Notification looks_on, over;
  options_.taken = [&follower_thread](const ServedModel&) {
    follower_thread = std::this_thread::get_id();
  };
  options_.ends = [&](absl::Duration pause) {
    if (!looks_on.HasBeenNotified()) looks_on.Notify();
    return over.WaitForNotificationWithTimeout(pause);
  };
  {
    const ModelFollower follower(options_, *service_, clock_);
    looks_on.WaitForNotification();
    EXPECT_FALSE(held_.freed.HasBeenNotified());
    LetRequestEnd();
    EXPECT_TRUE(held_.freed.WaitForNotificationWithTimeout(absl::Seconds(30)));
    EXPECT_EQ(held_.freed_by, follower_thread);
    over.Notify();
  }
  service_.reset();
  EXPECT_TRUE(next_.freed.HasBeenNotified());
}

TEST_F(NewerVersionTest, WhatARequestHasAtTheEndIsFreedWithTheFollower) {
  options_.taken = [](const ServedModel&) {};
  options_.ends = [](absl::Duration) { return true; };
  {
    const ModelFollower follower(options_, *service_, clock_);
    EXPECT_TRUE(follower.WaitForEnd(absl::Minutes(1)));
    LetRequestEnd();
    EXPECT_FALSE(held_.freed.HasBeenNotified());
  }
  EXPECT_TRUE(held_.freed.HasBeenNotified());
  EXPECT_EQ(held_.freed_by, std::this_thread::get_id());
}

}  // namespace
}  // namespace capstan::cli
