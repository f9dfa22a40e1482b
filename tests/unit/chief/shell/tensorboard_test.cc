#include "chief/shell/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "capstan/data/formats/tfrecord.h"
#include "capstan/v1/tensorboard.pb.h"

namespace capstan::chief {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

const absl::Time kNow = absl::FromUnixMillis(1'700'000'000'250);

// The events of a file all of whose records are whole.
std::vector<v1::TensorBoardEvent> EventsOf(const std::string& file) {
  EXPECT_EQ(WholeTfRecords(file), file.size());
  std::vector<v1::TensorBoardEvent> events;
  for (size_t at = 0; at < file.size();) {
    uint64_t length = 0;
    std::memcpy(&length, &file[at], sizeof(length));
    EXPECT_TRUE(events.emplace_back().ParseFromString(file.substr(at + 12, length)));
    at += 12 + length + 4;
  }
  return events;
}

std::map<std::string, float> ValuesOf(const v1::TensorBoardEvent& event) {
  std::map<std::string, float> values;
  for (const v1::TensorBoardValue& value : event.summary().value()) {
    values[value.tag()] = value.simple_value();
  }
  return values;
}

TEST(TensorBoardEventsTest, AFileBeginsWithItsVersionAndHasEachPointWithItsMetrics) {
  TensorBoardEvents events;
  AppendCurve point = {.examples = 1000, .step = 10, .loss = 0.5, .examples_per_second = 200};
  std::string file = TensorBoardEvents::Begin("", kNow) + events.Append(point, kNow);
  point.step = 20;
  (*point.evaluation.mutable_metrics())["auc"] = 0.75;
  (*point.evaluation.mutable_metrics())["buy/auc"] = 0.25;
  file += events.Append(point, kNow + absl::Seconds(1));
  const std::vector<v1::TensorBoardEvent> read = EventsOf(file);
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0].file_version(), "brain.Event:2");
  EXPECT_EQ(read[1].session_log().status(), v1::TensorBoardSession::STATUS_START);
  EXPECT_EQ(read[1].step(), 10);
  EXPECT_EQ(read[2].step(), 10);
  EXPECT_NEAR(read[2].wall_time(), 1'700'000'000.25, 1e-6);
  EXPECT_THAT(ValuesOf(read[2]),
              UnorderedElementsAre(Pair("train/loss", 0.5), Pair("train/examples", 1000),
                                   Pair("train/examples_per_second", 200)));
  EXPECT_EQ(read[3].step(), 20);
  EXPECT_EQ(ValuesOf(read[3]).at("eval/auc"), 0.75);
  EXPECT_EQ(ValuesOf(read[3]).at("eval/buy/auc"), 0.25);
}

TEST(TensorBoardEventsTest, ALossThatIsNotKnownHasNoTag) {
  TensorBoardEvents events;
  const auto last = [&events](const AppendCurve& point) {
    return ValuesOf(EventsOf(events.Append(point, kNow)).back());
  };
  AppendCurve point = {.examples = 1000, .step = 10};
  EXPECT_THAT(last(point), UnorderedElementsAre(Pair("train/examples", 1000),
                                                Pair("train/examples_per_second", 0)));
  point.loss = 0;
  EXPECT_EQ(last(point).at("train/loss"), 0);
}

TEST(TensorBoardEventsTest, StepsThatComeAgainReplaceTheFormerOnes) {
  TensorBoardEvents events;
  for (const uint64_t step : {10, 20, 30}) (void)events.Append({.step = step}, kNow);
  const std::vector<v1::TensorBoardEvent> again = EventsOf(events.Append({.step = 25}, kNow));
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].session_log().status(), v1::TensorBoardSession::STATUS_START);
  EXPECT_EQ(again[0].step(), 25);
  EXPECT_EQ(EventsOf(events.Append({.step = 26}, kNow)).size(), 1u);
}

// A chief that is killed may leave half a record behind, after which nothing would be read.
TEST(TensorBoardEventsTest, AFileIsGoneOnWithFromItsLastWholeRecord) {
  TensorBoardEvents events;
  const std::string whole = TensorBoardEvents::Begin("", kNow) + events.Append({.step = 1}, kNow);
  const std::string more = events.Append({.step = 2}, kNow);
  for (size_t torn = 0; torn < more.size(); ++torn) {
    EXPECT_EQ(TensorBoardEvents::Begin(whole + more.substr(0, torn), kNow), whole) << torn;
  }
  EXPECT_EQ(TensorBoardEvents::Begin(whole + more, kNow), whole + more);
  std::string damaged = whole + more;
  damaged[whole.size() + 13] ^= 1;
  EXPECT_EQ(TensorBoardEvents::Begin(damaged, kNow), whole);
  EXPECT_EQ(EventsOf(TensorBoardEvents::Begin("no events", kNow)).size(), 1u);
}

}  // namespace
}  // namespace capstan::chief
