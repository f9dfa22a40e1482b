#include "chief/shell/change_teller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

v1::JobSpec Seeded(uint64_t seed) {
  v1::JobSpec spec;
  spec.set_seed(seed);
  return spec;
}

// A running job whose seed is 1, and a file that says 2.
class ChangeTellerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_) << "seed: 2";
    JobWatch watch(
        path_, [this] { return Read(); }, Seeded(1));
    teller_.emplace(std::move(watch), [this](std::string change) { told_.push_back(change); });
  }

  // What is under way, and what waits for it, is done, and the teller is gone.
  void End() { teller_.reset(); }

  const TestFolder folder_;
  const std::string path_ = folder_.Path("job.yaml");
  const absl::Time begin_ = absl::UnixEpoch() + absl::Hours(1);
  bool store_is_away_ = false;   // Then a look finds nothing, and the next one reads again.
  absl::Notification reading_;   // The first look has begun to read.
  absl::Notification may_read_;  // It may go on.
  int reads_ = 0;
  std::vector<std::string> told_;
  std::optional<ChangeTeller> teller_;

 private:
  absl::StatusOr<v1::JobSpec> Read() {
    if (++reads_ == 1) {
      reading_.Notify();
      may_read_.WaitForNotification();
    }
    if (store_is_away_) return absl::UnavailableError("no route");
    return Seeded(2);
  }
};

TEST_F(ChangeTellerTest, WhatTheFileSaysAndTheJobDoesNotDoIsTold) {
  may_read_.Notify();
  teller_->Glance(begin_);
  End();
  EXPECT_THAT(told_, testing::ElementsAre(testing::HasSubstr("seed: 1 -> 2")));
}

TEST_F(ChangeTellerTest, TheFileIsLookedAtEveryTwoSecondsHoweverOftenItIsAskedFor) {
  store_is_away_ = true;
  teller_->Glance(begin_);
  reading_.WaitForNotification();
  teller_->Glance(begin_ + absl::Seconds(1.9));
  may_read_.Notify();
  teller_->Glance(begin_ + absl::Seconds(2));
  teller_->Glance(begin_ + absl::Seconds(3.9));
  End();
  EXPECT_EQ(reads_, 2);
}

TEST_F(ChangeTellerTest, WhileALookTakesLongOneMoreWaits) {
  store_is_away_ = true;
  teller_->Glance(begin_);
  reading_.WaitForNotification();
  for (int look = 1; look < 10; ++look) teller_->Glance(begin_ + look * absl::Seconds(2));
  may_read_.Notify();
  End();
  EXPECT_EQ(reads_, 2);
}

}  // namespace
}  // namespace capstan::chief
