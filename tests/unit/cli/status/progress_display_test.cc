#include "cli/status/progress_display.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const absl::Time kFirstLook = absl::UnixEpoch();

// What is written of a job that is shown where no terminal is.
class ProgressDisplayTest : public testing::Test {
 protected:
  ProgressDisplayTest() {
    EXPECT_EQ(pipe2(ends_, O_NONBLOCK), 0);
    terminal_.emplace(ends_[1]);
    progress_.emplace(*terminal_);
    status_.set_state(v1::JOB_STATE_RUNNING);
  }
  ~ProgressDisplayTest() override {
    close(ends_[0]);
    close(ends_[1]);
  }

  // The lines since the last call.
  std::vector<std::string> Lines() {
    std::string text(1 << 16, '\0');
    const ssize_t got = read(ends_[0], text.data(), text.size());
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }

  int ends_[2] = {-1, -1};
  std::optional<Terminal> terminal_;
  std::optional<ProgressDisplay> progress_;
  v1::GetStatusReply status_;
};

TEST_F(ProgressDisplayTest, WritesALineEveryThreeSeconds) {
  progress_->Show(status_, kFirstLook);
  EXPECT_THAT(Lines(), ElementsAre(StartsWith("0s running 0.0 %")));
  progress_->Show(status_, kFirstLook + ProgressDisplay::kLinePeriod - absl::Milliseconds(1));
  EXPECT_THAT(Lines(), IsEmpty());
  status_.set_progress(0.5);
  progress_->Show(status_, kFirstLook + ProgressDisplay::kLinePeriod);
  EXPECT_THAT(Lines(), ElementsAre(StartsWith("0s running 50.0 %")));
}

TEST_F(ProgressDisplayTest, TellsAnEventAtOnceAndInFrontOfTheLine) {
  progress_->Show(status_, kFirstLook);
  Lines();
  status_.add_warnings("the loss is odd");
  progress_->Show(status_, kFirstLook + absl::Seconds(1));
  EXPECT_THAT(Lines(), ElementsAre("warning: the loss is odd"));
  status_.add_losses()->set_cause("ps-1 died");
  progress_->ShowLast(status_);
  EXPECT_THAT(Lines(),
              ElementsAre(StartsWith("recovered in 0s: ps-1 died"), HasSubstr("recovered once")));
}

TEST_F(ProgressDisplayTest, WhatHappenedBeforeTheFirstLookIsNoNewsButWhatStillHoldsIs) {
  status_.add_losses()->set_cause("ps-1 died");
  status_.mutable_replicas()->set_promotions(3);
  status_.set_term(2);
  status_.set_examples(5);
  status_.add_warnings("the loss is odd");
  status_.set_bad_records(1);
  progress_->Show(status_, kFirstLook);
  EXPECT_THAT(Lines(),
              ElementsAre("warning: the loss is odd", "1 bad record", StartsWith("0s running")));
}

TEST_F(ProgressDisplayTest, TheLastStatusIsShownHoweverSoonItComes) {
  progress_->Show(status_, kFirstLook);
  Lines();
  status_.set_state(v1::JOB_STATE_COMPLETED);
  progress_->ShowLast(status_);
  EXPECT_THAT(Lines(), ElementsAre(StartsWith("0s completed")));
}

}  // namespace
}  // namespace capstan::cli
