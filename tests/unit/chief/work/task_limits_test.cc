// What a report of a task is believed of.
#include "chief/work/task_limits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

constexpr uint64_t kMostOfUnknown = uint64_t{1} << 40;
constexpr uint64_t kOpenEnd = std::numeric_limits<uint64_t>::max();

class TaskLimitsTest : public testing::Test {
 protected:
  static v1::Task Range(uint64_t begin, uint64_t end) {
    v1::Task task;
    task.set_begin(begin);
    task.set_end(end);
    return task;
  }
  static v1::Task Pieces(const std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
    v1::Task task;
    for (const auto& [begin, end] : ranges) {
      v1::TaskPiece& piece = *task.add_pieces();
      piece.set_begin(begin);
      piece.set_end(end);
    }
    return task;
  }
};

TEST_F(TaskLimitsTest, EachRecordHasAByteOfItsOwnOrANumber) {
  EXPECT_EQ(MostRecords(Range(100, 350)), 250u);
  EXPECT_EQ(MostRecords(Pieces({{0, 10}, {90, 95}})), 15u);
}

TEST_F(TaskLimitsTest, WhereTheEndIsNotKnownThereIsABoundNevertheless) {
  EXPECT_EQ(MostRecords(Range(0, kOpenEnd)), kMostOfUnknown);
  EXPECT_EQ(MostRecords(Range(0, kOpenEnd - 1)), kMostOfUnknown);
  EXPECT_EQ(MostRecords(Range(5, 5)), kMostOfUnknown) << "such a task tells nothing of its end";
  EXPECT_EQ(MostRecords(Pieces({{0, kOpenEnd}, {0, kOpenEnd}, {0, 1}})), kMostOfUnknown);
}

TEST_F(TaskLimitsTest, AllBatchesAreFullButTheLastOneWhichMayBeEmpty) {
  EXPECT_EQ(MostBatches(Range(0, 250), 100), 3u);
  EXPECT_EQ(MostBatches(Range(0, 200), 100), 3u);
  EXPECT_EQ(MostBatches(Range(0, 9), 100), 1u);
  EXPECT_EQ(MostBatches(Range(0, 9), 0), 10u) << "no batch is smaller than one record";
}

TEST_F(TaskLimitsTest, EachNumberOfAReportIsBelievedUpToItsLimit) {
  using Set = void (v1::LeaseReport::*)(uint64_t);
  struct Limit {
    Set set;
    uint64_t most;
    const char* what;
  };
  const Limit limits[] = {{&v1::LeaseReport::set_batches_done, 3, "batches"},
                          {&v1::LeaseReport::set_total_batches, 3, "batches in all"},
                          {&v1::LeaseReport::set_examples, 250, "examples"},
                          {&v1::LeaseReport::set_total_examples, 250, "examples in all"},
                          {&v1::LeaseReport::set_bad_records, 250, "bad records"}};
  for (const Limit& limit : limits) {
    v1::LeaseReport report;
    (report.*limit.set)(limit.most);
    EXPECT_TRUE(CheckNumbers(Range(100, 350), 100, report).ok()) << limit.what;
    (report.*limit.set)(limit.most + 1);
    const absl::Status refused = CheckNumbers(Range(100, 350), 100, report);
    EXPECT_TRUE(absl::IsInvalidArgument(refused));
    EXPECT_EQ(refused.message(), absl::StrCat("a worker reports ", limit.most + 1, " ", limit.what,
                                              " of a task that has ", limit.most,
                                              " at the most; its reports are not to be believed"));
  }
}

TEST_F(TaskLimitsTest, SoIsEachNumberOfALanesTask) {
  using Set = void (v1::LaneTaskDone::*)(uint64_t);
  const std::pair<Set, uint64_t> limits[] = {{&v1::LaneTaskDone::set_batches, 3},
                                             {&v1::LaneTaskDone::set_examples, 250},
                                             {&v1::LaneTaskDone::set_bad_records, 250}};
  for (const auto& [set, most] : limits) {
    v1::LaneTaskDone done;
    (done.*set)(most);
    EXPECT_TRUE(CheckNumbers(Range(0, 250), 100, done).ok()) << most;
    (done.*set)(kOpenEnd);
    EXPECT_TRUE(absl::IsInvalidArgument(CheckNumbers(Range(0, 250), 100, done))) << most;
  }
}

}  // namespace
}  // namespace capstan::chief
