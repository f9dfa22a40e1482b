// A copy is read piece by piece, and the reading may be broken off between them.
#include "ps/partition/read_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/ps/partition/pushed_partition.h"

namespace capstan::ps {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Has one row, and a copy of it that has begun.
class ReadCopyTest : public testing::Test {
 protected:
  ReadCopyTest() {
    EXPECT_EQ(subject_.Push(/*key=*/3, /*seq=*/0), v1::OUTCOME_APPLIED);
    copy_ = *subject_.partition().BeginCopy({.timeline = PushedPartition::kTimeline},
                                            PushedPartition::kTime);
  }
  ~ReadCopyTest() override { subject_.partition().SettleCopy("", PushedPartition::kTime); }

  absl::Status Append(std::string piece) {
    file_ += piece;
    return absl::OkStatus();
  }

  PushedPartition subject_{v1::POLICY_KIND_ASYNC};
  PartitionCopy copy_;
  std::string file_;
};

TEST_F(ReadCopyTest, WhatIsAppendedAndWhatIsLeftAreTheCopyWhateverIsPushedBetweenPieces) {
  PartitionEncoder encoder = subject_.EncoderOf(copy_);
  uint64_t seq = 1;
  const auto read = ReadCopy(
      subject_.partition(), encoder,
      [&] {
        EXPECT_EQ(subject_.Push(/*key=*/3, seq++), v1::OUTCOME_APPLIED);
        return absl::OkStatus();
      },
      [&](std::string piece) { return Append(std::move(piece)); });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read);
  EXPECT_GT(seq, 1u);
  file_ += std::move(encoder).TakeRest();
  EXPECT_THAT(subject_.RowsIn(file_), UnorderedElementsAre(Pair(3, 1)));
}

TEST_F(ReadCopyTest, TheFirstErrorEndsTheReading) {
  for (const bool of_check : {true, false}) {
    PartitionEncoder encoder = subject_.EncoderOf(copy_);
    int checks = 0;
    int appends = 0;
    const auto read = ReadCopy(
        subject_.partition(), encoder,
        [&] {
          ++checks;
          return of_check ? absl::CancelledError("ended") : absl::OkStatus();
        },
        [&](const std::string&) {
          ++appends;
          return absl::UnavailableError("the store is away");
        });
    EXPECT_EQ(read.status().message(), of_check ? "ended" : "the store is away");
    EXPECT_EQ(checks, 1);
    EXPECT_EQ(appends, of_check ? 0 : 1);
  }
}

TEST_F(ReadCopyTest, IsFalseWhereAnotherContentHasBeenLoadedMeanwhile) {
  PartitionEncoder encoder = subject_.EncoderOf(copy_);
  const auto read = ReadCopy(
      subject_.partition(), encoder,
      [&] {
        subject_.LoadAnew();
        return absl::OkStatus();
      },
      [&](std::string piece) { return Append(std::move(piece)); });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(*read);
}

}  // namespace
}  // namespace capstan::ps
