#include "worker/machines/waiting_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace capstan::worker {
namespace {

using testing::ElementsAre;

class WaitingTurnsTest : public testing::Test {
 protected:
  void Ask(int who) {
    turns_->Ask([this, who](WaitingTurns::Turn turn) {
      begun_.push_back(who);
      held_.emplace(who, std::move(turn));
    });
  }
  void End(int who) { held_.erase(who); }

  std::vector<int> begun_;
  std::unique_ptr<WaitingTurns> turns_ = std::make_unique<WaitingTurns>(2);
  std::map<int, WaitingTurns::Turn> held_;
};

TEST_F(WaitingTurnsTest, AsManyAsMayWaitDoSoAndTheOthersComeInTheOrderOfAsking) {
  for (int who : {4, 1, 3, 2}) Ask(who);
  EXPECT_THAT(begun_, ElementsAre(4, 1));
  End(1);
  EXPECT_THAT(begun_, ElementsAre(4, 1, 3));
  End(4);
  End(3);
  EXPECT_THAT(begun_, ElementsAre(4, 1, 3, 2));
}

TEST_F(WaitingTurnsTest, AnyNumberOfThemMayWantNothingAnyMore) {
  Ask(1);
  Ask(2);
  for (int count = 0; count < 100'000; ++count) turns_->Ask([](WaitingTurns::Turn) {});
  Ask(3);
  EXPECT_THAT(begun_, ElementsAre(1, 2));
  End(2);
  EXPECT_THAT(begun_, ElementsAre(1, 2, 3));
}

TEST_F(WaitingTurnsTest, ATurnMayEndWhenTheWorkerIsGone) {
  Ask(1);
  turns_ = nullptr;
  End(1);
  EXPECT_TRUE(held_.empty());
}

}  // namespace
}  // namespace capstan::worker
