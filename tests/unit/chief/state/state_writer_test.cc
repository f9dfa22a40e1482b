// When the chief's state is written, and what of it is known to be stored.
#include "chief/state/state_writer.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

const absl::Time kBegin = absl::UnixEpoch() + absl::Hours(1);

TEST(StateWriterTest, WritesWhatIsUrgentAtOnceAndTheRestOnceASecond) {
  StateWriter writer(/*durable=*/true);
  EXPECT_FALSE(writer.TakeDue(kBegin)) << "nothing has changed";
  (void)writer.Require();
  EXPECT_TRUE(writer.TakeDue(kBegin));
  writer.OnStored(absl::OkStatus(), kBegin);
  (void)writer.Note();
  EXPECT_FALSE(writer.TakeDue(kBegin + absl::Milliseconds(900)));
  EXPECT_TRUE(writer.TakeDue(kBegin + absl::Seconds(1)));
}

TEST(StateWriterTest, ATicketStandsWhenAWriteThatBeganLaterHasEnded) {
  StateWriter writer(/*durable=*/true);
  const StateWriter::Ticket first = writer.Require();
  ASSERT_TRUE(writer.TakeDue(kBegin));
  const StateWriter::Ticket second = writer.Require();
  EXPECT_FALSE(writer.TakeDue(kBegin)) << "one at a time";
  writer.OnStored(absl::OkStatus(), kBegin);
  EXPECT_TRUE(writer.IsStored(first));
  EXPECT_FALSE(writer.IsStored(second)) << "the write had begun before";
  ASSERT_TRUE(writer.TakeDue(kBegin));
  writer.OnStored(absl::OkStatus(), kBegin);
  EXPECT_TRUE(writer.IsStored(second));
  EXPECT_TRUE(writer.settled());
}

TEST(StateWriterTest, TriesAgainAfterAFailureWithLongerPauses) {
  StateWriter writer(/*durable=*/true);
  const StateWriter::Ticket ticket = writer.Require();
  absl::Time now = kBegin;
  int tries = 0;
  for (; now < kBegin + absl::Minutes(1); now += absl::Milliseconds(100)) {
    if (!writer.TakeDue(now)) continue;
    ++tries;
    writer.OnStored(absl::UnavailableError("away"), now);
  }
  EXPECT_GT(tries, 10);
  EXPECT_LT(tries, 25);
  EXPECT_FALSE(writer.IsStored(ticket));
  EXPECT_FALSE(writer.superseded());
}

TEST(StateWriterTest, StopsWhenAnotherChiefHasWritten) {
  StateWriter writer(/*durable=*/true);
  (void)writer.Require();
  ASSERT_TRUE(writer.TakeDue(kBegin));
  writer.OnStored(absl::AbortedError("term 2"), kBegin);
  EXPECT_TRUE(writer.superseded());
  EXPECT_FALSE(writer.TakeDue(kBegin + absl::Hours(1)));
}

TEST(StateWriterTest, TheTermStoodWhenTheLastWriteBeganThatHasSucceeded) {
  StateWriter writer(/*durable=*/true);
  const absl::Time later = kBegin + absl::Seconds(5);
  EXPECT_EQ(writer.stood_at(kBegin), absl::InfinitePast());
  (void)writer.Require();
  ASSERT_TRUE(writer.TakeDue(kBegin));
  EXPECT_EQ(writer.stood_at(later), absl::InfinitePast()) << "nobody knows yet";
  writer.OnStored(absl::OkStatus(), later);
  EXPECT_EQ(writer.stood_at(later), kBegin) << "another chief may have written since";
  (void)writer.Require();
  ASSERT_TRUE(writer.TakeDue(later));
  writer.OnStored(absl::UnavailableError("away"), later);
  EXPECT_EQ(writer.stood_at(later), kBegin);
}

TEST(StateWriterTest, ATermIsRenewedByAWriteThoughNothingHasChanged) {
  StateWriter writer(/*durable=*/true);
  const absl::Duration age = absl::Seconds(2);
  writer.Renew(kBegin, age);
  ASSERT_TRUE(writer.TakeDue(kBegin)) << "it was never known to stand";
  writer.Renew(kBegin + absl::Seconds(9), age);
  writer.OnStored(absl::OkStatus(), kBegin);
  EXPECT_TRUE(writer.settled()) << "a write was under way";
  writer.Renew(kBegin + absl::Seconds(1), age);
  EXPECT_TRUE(writer.settled());
  writer.Renew(kBegin + age, age);
  writer.Renew(kBegin + age, age);
  ASSERT_TRUE(writer.TakeDue(kBegin + age));
  writer.OnStored(absl::OkStatus(), kBegin + age);
  EXPECT_TRUE(writer.settled()) << "one write is enough";
  EXPECT_EQ(writer.stood_at(kBegin + age), kBegin + age);
}

TEST(StateWriterTest, WithoutAStoreEverythingStandsAtOnce) {
  StateWriter writer(/*durable=*/false);
  EXPECT_EQ(writer.stood_at(kBegin), kBegin);
  writer.Renew(kBegin, absl::Seconds(1));
  EXPECT_TRUE(writer.IsStored(writer.Require()));
  EXPECT_FALSE(writer.TakeDue(kBegin));
}

}  // namespace
}  // namespace capstan::chief
