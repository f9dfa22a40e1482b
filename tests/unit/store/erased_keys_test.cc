// Which keys a copy of changes must name as erased, and when it cannot know them.
#include "capstan/store/erased_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace capstan {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Remembers two keys of any table, or half as many as it has rows.
class ErasedKeysTest : public testing::Test {
 protected:
  // The mark ends with a copy that has come to nothing.
  void GiveUp(size_t rows = 0) {
    erased_.Settle(/*safe=*/false, rows, [](uint64_t) { return true; });
  }

  ErasedKeys erased_{/*least=*/2};
};

TEST_F(ErasedKeysTest, BeforeTheyAreTrackedTheyAreNotKnown) {
  erased_.Add(1, /*rows=*/0);
  EXPECT_FALSE(erased_.known());
  erased_.Track();
  EXPECT_TRUE(erased_.known());
  erased_.Mark();
  EXPECT_THAT(erased_.marked(), IsEmpty());
}

TEST_F(ErasedKeysTest, AMarkDividesThemAndASafeCopyForgetsThoseBeforeIt) {
  erased_.Track();
  erased_.Add(1, 0);
  erased_.Mark();
  erased_.Add(2, 0);
  EXPECT_THAT(erased_.marked(), UnorderedElementsAre(1));
  erased_.Settle(/*safe=*/true, 0, [](uint64_t) { return true; });
  EXPECT_THAT(erased_.marked(), IsEmpty());
  erased_.Mark();
  EXPECT_THAT(erased_.marked(), UnorderedElementsAre(2));
}

TEST_F(ErasedKeysTest, ACopyThatHasComeToNothingLeavesItsKeysToTheNext) {
  erased_.Track();
  erased_.Add(1, 0);
  erased_.Mark();
  erased_.Add(2, 0);
  GiveUp();
  erased_.Mark();
  EXPECT_THAT(erased_.marked(), UnorderedElementsAre(1, 2));
}

TEST_F(ErasedKeysTest, AKeyThatHasARowAgainIsNotErased) {
  erased_.Track();
  erased_.Add(1, 0);
  erased_.Add(2, 0);
  erased_.Remove(2);
  erased_.Mark();
  EXPECT_THAT(erased_.marked(), UnorderedElementsAre(1));
  erased_.Settle(/*safe=*/false, 0, [](uint64_t key) { return key != 1; });
  erased_.Mark();
  EXPECT_THAT(erased_.marked(), IsEmpty()) << "it came back while the copy was read";
}

TEST_F(ErasedKeysTest, TooManyAreNotRememberedUntilTheNextMark) {
  erased_.Track();
  for (const uint64_t key : {1, 2}) erased_.Add(key, /*rows=*/0);
  EXPECT_TRUE(erased_.known());
  erased_.Add(3, 0);
  EXPECT_FALSE(erased_.known()) << "the next copy is a whole one";
  erased_.Mark();
  EXPECT_THAT(erased_.marked(), IsEmpty());
  EXPECT_TRUE(erased_.known()) << "since the mark";
}

TEST_F(ErasedKeysTest, OfALargeTableHalfAsManyAsItHasRowsAreRemembered) {
  erased_.Track();
  for (const uint64_t key : {1, 2, 3, 4}) erased_.Add(key, /*rows=*/8);
  EXPECT_TRUE(erased_.known());
  erased_.Add(5, 8);
  EXPECT_FALSE(erased_.known());
}

TEST_F(ErasedKeysTest, WhereThoseBeforeTheMarkWereNotKnownNoneAreAfterACopyThatCameToNothing) {
  erased_.Mark();
  erased_.Add(1, 0);
  EXPECT_TRUE(erased_.known());
  GiveUp();
  EXPECT_FALSE(erased_.known());
}

TEST_F(ErasedKeysTest, BothTogetherMayBeTooMany) {
  erased_.Track();
  for (const uint64_t key : {1, 2}) erased_.Add(key, 0);
  erased_.Mark();
  erased_.Add(3, 0);
  GiveUp();
  EXPECT_FALSE(erased_.known());
}

}  // namespace
}  // namespace capstan
