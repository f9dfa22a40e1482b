// Numbers at the edges: of gradients, and of the places that pushes name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/integration/shard/raw_shard.h"

namespace capstan {
namespace {

using testing::Each;

constexpr uint64_t kLastSeq = ~uint64_t{0};

class BadNumbersTest : public RawShardTest {
 protected:
  // A push whose last value is `bits`, the others 1.
  v1::PushRequest PushOf(uint32_t bits) const {
    std::vector<float> values(kColumns, 1);
    values.back() = std::bit_cast<float>(bits);
    v1::PushRequest push = GoodPush();
    Rows(push).set_values(Packed(values));
    return push;
  }
  v1::PushRequest PushOf(float value, uint64_t seq = 0) const {
    v1::PushRequest push = GoodPush();
    push.mutable_stream()->set_seq(seq);
    Rows(push).set_values(Packed(std::vector<float>(kColumns, value)));
    return push;
  }
};

TEST_F(BadNumbersTest, OneNanOrInfinityRefusesTheWholePush) {
  const uint32_t quiet = 0x7FC00000, signalling = 0x7F800001, negative = 0xFF812345,
                 infinity = 0x7F800000, minus_infinity = 0xFF800000;
  for (uint32_t bits : {quiet, signalling, negative, infinity, minus_infinity}) {
    ExpectRefused(PushOf(bits), absl::StatusCode::kInvalidArgument, "nan");
  }
  EXPECT_THAT(RowOf(3), Each(0));
}

TEST_F(BadNumbersTest, VersionsOfRowsAreOneForEachKeyOrNone) {
  v1::PushRequest push = GoodPush();
  for (size_t bytes : {1, 3, 5, 4096}) {
    Rows(push).set_updates(std::string(bytes, '\1'));
    ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
  }
}

TEST_F(BadNumbersTest, SoDoesOneInBfloat16WhateverItsPayload) {
  for (const char* bad : {"\xC0\x7F", "\x81\x7F", "\x81\xFF", "\x80\x7F", "\x80\xFF"}) {
    v1::PushRequest push = GoodPush();
    push.set_dtype(v1::DTYPE_BFLOAT16);
    std::string values(kColumns * 2, '\0');
    values.replace(values.size() - 2, 2, bad, 2);
    Rows(push).set_values(values);
    ExpectRefused(push, absl::StatusCode::kInvalidArgument, "nan");
  }
  EXPECT_THAT(RowOf(3), Each(0));
}

TEST_F(BadNumbersTest, MinusZeroIsZero) {
  EXPECT_EQ(OutcomeOf(PushOf(-0.0f)), v1::OUTCOME_APPLIED);
  EXPECT_THAT(RowOf(3), Each(0));
}

TEST_F(BadNumbersTest, DenormalsCountAsWhatTheyAre) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(OutcomeOf(PushOf(-denormal, 0)), v1::OUTCOME_APPLIED);
  EXPECT_EQ(OutcomeOf(PushOf(-denormal, 1)), v1::OUTCOME_APPLIED);
  EXPECT_THAT(RowOf(3), Each(2 * denormal));
}

// Each gradient is finite, so it is taken; what it makes of the row is the row's own.
TEST_F(BadNumbersTest, AnOverflowStaysInItsRow) {
  v1::PushRequest push = GoodPush();
  Rows(push).set_keys(Packed(std::vector<uint64_t>{3, 3}));
  Rows(push).set_values(Packed(std::vector<float>(2 * kColumns, -3e38f)));
  EXPECT_EQ(OutcomeOf(push), v1::OUTCOME_APPLIED);
  EXPECT_THAT(RowOf(3), Each(std::numeric_limits<float>::infinity()));
  ASSERT_TRUE(client_.Push().ok());
  const std::vector<float> cells = *client_.Pull();
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool of_the_row = i / kColumns == 3;
    ASSERT_EQ(std::isfinite(cells[i]), !of_the_row) << i;
  }
}

TEST_F(BadNumbersTest, ASeqFarAboveWhatIsSettledIsOutsideTheWindow) {
  for (uint64_t seq : {uint64_t{1000}, kLastSeq}) {
    EXPECT_EQ(OutcomeOf(PushOf(-1, seq)), v1::OUTCOME_OUTSIDE_WINDOW) << seq;
  }
  EXPECT_EQ(OutcomeOf(PushOf(-1, 0)), v1::OUTCOME_APPLIED);
  EXPECT_THAT(RowOf(3), Each(1));
}

TEST_F(BadNumbersTest, ALowWatermarkOf2To64SettlesTheStreamAndNothingElse) {
  v1::PushRequest push = PushOf(-1.0f, 0);
  push.mutable_stream()->set_low_watermark(kLastSeq);
  (void)OutcomeOf(push);
  EXPECT_TRUE(client_.Push().ok());
  push.mutable_stream()->set_stream(StreamId::Task(9, 10).value);
  push.mutable_stream()->set_low_watermark(0);
  EXPECT_EQ(OutcomeOf(push), v1::OUTCOME_APPLIED);
}

TEST_F(BadNumbersTest, VersionsFromTheFutureAreNotStale) {
  v1::PushRequest push = GoodPush();
  push.mutable_partitions(0)->set_sparse_version(kLastSeq);
  EXPECT_EQ(OutcomeOf(push), v1::OUTCOME_APPLIED);
}

}  // namespace
}  // namespace capstan
