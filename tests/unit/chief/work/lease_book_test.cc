#include "chief/work/lease_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace capstan::chief {
namespace {

using testing::ElementsAre;

constexpr TrainerId kAnna{7};
constexpr TrainerId kBert{3};

v1::Lease LeaseOf(TrainerId trainer, uint64_t count, uint64_t first_batch = 0) {
  v1::Lease lease;
  lease.set_trainer(Raw(trainer));
  lease.mutable_generation()->set_term(1);
  lease.mutable_generation()->set_count(count);
  lease.set_first_batch(first_batch);
  return lease;
}

std::vector<uint64_t> CountsOf(std::span<const HeldLease> held) {
  std::vector<uint64_t> counts;
  for (const HeldLease& one : held) counts.push_back(one.lease.generation().count());
  return counts;
}

class LeaseBookTest : public testing::Test {
 protected:
  LeaseBookTest() {
    book_.Add(LeaseOf(kAnna, 1, /*first_batch=*/5));
    book_.Add(LeaseOf(kBert, 2));
    book_.Add(LeaseOf(kAnna, 3));
  }

  LeaseBook book_;
};

TEST_F(LeaseBookTest, KnowsTheLeasesOfEachTrainerInTheOrderGranted) {
  EXPECT_EQ(book_.size(), 3u);
  EXPECT_THAT(CountsOf(book_.Of(kAnna)), ElementsAre(1, 3));
  EXPECT_THAT(CountsOf(book_.Of(kBert)), ElementsAre(2));
  EXPECT_THAT(CountsOf(book_.Of(TrainerId{9})), ElementsAre());
}

TEST_F(LeaseBookTest, ALeaseIsFoundWhereOneOfTheTrainersHoldsIt) {
  const std::vector<TrainerId> both{kBert, kAnna};
  const HeldLease* held = book_.Find(both, {1, 1});
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->batches_done, 5u) << "it goes on where the task stood";
  EXPECT_EQ(book_.Find(std::vector<TrainerId>{kBert}, {1, 1}), nullptr);
  EXPECT_EQ(book_.Find(both, {2, 1}), nullptr) << "of another chief";
}

TEST_F(LeaseBookTest, WhatIsTakenOutIsHeldByNobody) {
  EXPECT_EQ(book_.Remove(kAnna, {1, 1}).lease.generation().count(), 1u);
  EXPECT_THAT(CountsOf(book_.Of(kAnna)), ElementsAre(3));
  EXPECT_THAT(CountsOf(book_.RemoveAll(kAnna)), ElementsAre(3));
  EXPECT_THAT(CountsOf(book_.RemoveAll(kAnna)), ElementsAre());
  EXPECT_EQ(book_.size(), 1u);
}

// Of many, lest an order that is right by chance passes.
TEST_F(LeaseBookTest, AllOfThemComeInTheOrderOfTheTrainers) {
  for (uint64_t trainer = 100; trainer > 50; --trainer) {
    book_.Add(LeaseOf(TrainerId{trainer}, trainer));
  }
  const std::vector<HeldLease> all = book_.Clear();
  std::vector<uint64_t> expected{2, 1, 3};
  for (uint64_t trainer = 51; trainer <= 100; ++trainer) expected.push_back(trainer);
  EXPECT_EQ(CountsOf(all), expected);
  EXPECT_EQ(book_.size(), 0u);
}

}  // namespace
}  // namespace capstan::chief
