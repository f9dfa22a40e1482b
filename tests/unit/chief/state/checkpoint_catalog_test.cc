// Which checkpoints are kept.
#include "chief/state/checkpoint_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CheckpointFacts Facts(const std::string& id, uint64_t step, const std::string& parent = "",
                      double auc = -1) {
  CheckpointFacts facts{.id = id, .parent = parent, .timeline = 1, .step = step};
  if (auc >= 0) facts.metrics["auc"] = auc;
  return facts;
}

TEST(CheckpointCatalogTest, KeepsTheNewestByTimelineAndStep) {
  CheckpointCatalog catalog({.keep = 2});
  catalog.Add(Facts("c", 30));
  catalog.Add(Facts("a", 10));
  catalog.Add(Facts("b", 20));
  EXPECT_THAT(catalog.Superfluous(), ElementsAre("a"));
  CheckpointFacts after_rollback = Facts("d", 15);
  after_rollback.timeline = 2;
  catalog.Add(after_rollback);
  EXPECT_EQ(catalog.newest()->id, "d") << "a later timeline is newer, whatever its step";
  EXPECT_THAT(catalog.Superfluous(), ElementsAre("b", "a"));
}

TEST(CheckpointCatalogTest, WhatHasComeToNoNumberIsWorseThanAnyCheckpointThatHasOne) {
  const CheckpointCatalog catalog({.metric = "auc"});
  const CheckpointFacts good = Facts("good", 10, "", 0.8);
  EXPECT_TRUE(catalog.Better(good, {{"auc", std::nan("")}}));
  EXPECT_FALSE(catalog.Better(good, {{"auc", 0.9}}));
  EXPECT_FALSE(catalog.Better(good, {})) << "nothing is known of it";
  EXPECT_FALSE(catalog.Better(Facts("nan", 20, "", std::nan("")), {{"auc", std::nan("")}}));
}

TEST(CheckpointCatalogTest, KeepsTheBestHoweverOldItIs) {
  CheckpointCatalog catalog({.keep = 1, .metric = "auc"});
  catalog.Add(Facts("good", 10, "", 0.8));
  catalog.Add(Facts("bad", 20, "", 0.7));
  catalog.Add(Facts("nan", 25, "", std::nan("")));
  catalog.Add(Facts("new", 30));
  EXPECT_EQ(catalog.best()->id, "good");
  EXPECT_THAT(catalog.Superfluous(), ElementsAre("nan", "bad"));
}

TEST(CheckpointCatalogTest, OfALossTheSmallestIsTheBest) {
  CheckpointCatalog catalog({.keep = 1});
  CheckpointFacts low = Facts("low", 10);
  low.metrics["logloss"] = 0.3;
  CheckpointFacts high = Facts("high", 20);
  high.metrics["logloss"] = 0.4;
  catalog.Add(low);
  catalog.Add(high);
  EXPECT_EQ(catalog.best()->id, "low");
}

TEST(CheckpointCatalogTest, MetricsSurpassThoseOfEveryCheckpointOrDoNot) {
  CheckpointCatalog catalog({.keep = 1, .metric = "auc"});
  EXPECT_TRUE(catalog.Surpasses({{"auc", 0.1}})) << "there is none";
  EXPECT_FALSE(catalog.Surpasses({{"logloss", 0.1}}));
  EXPECT_FALSE(catalog.Surpasses({{"auc", std::nan("")}}));
  catalog.Add(Facts("good", 10, "", 0.8));
  catalog.Add(Facts("bad", 20, "", 0.7));
  EXPECT_FALSE(catalog.Surpasses({{"auc", 0.8}}));
  EXPECT_TRUE(catalog.Surpasses({{"auc", 0.81}}));
}

TEST(CheckpointCatalogTest, WhatCameAfterTheOneThatIsGoneOnFromIsOlderThanAll) {
  CheckpointCatalog catalog({.keep = 2});
  for (const auto& [id, step] : {std::pair("a", 10), {"best", 20}, {"worse", 30}}) {
    catalog.Add(Facts(id, static_cast<uint64_t>(step)));
  }
  CheckpointFacts later = Facts("later", 25);
  later.timeline = 2;
  catalog.Add(later);
  catalog.GoOnFrom("best", /*timeline=*/1);
  EXPECT_EQ(catalog.newest()->id, "later");
  catalog.Remove("later");
  EXPECT_EQ(catalog.newest()->id, "best");
  EXPECT_EQ(catalog.Find("worse")->timeline, 0u);
  EXPECT_THAT(catalog.Superfluous(), ElementsAre("worse"));
  catalog.GoOnFrom("unknown", /*timeline=*/1);
  EXPECT_EQ(catalog.newest()->id, "best");
}

TEST(CheckpointCatalogTest, KeepsWhatDeltasBuildOn) {
  CheckpointCatalog catalog({.keep = 1});
  catalog.Add(Facts("full", 10));
  catalog.Add(Facts("delta", 20, "full"));
  catalog.Add(Facts("other", 25));
  catalog.Add(Facts("newest", 30, "delta"));
  EXPECT_THAT(catalog.Superfluous(), ElementsAre("other"));
  EXPECT_EQ(catalog.DeltasOf("newest"), 2u);
  EXPECT_EQ(catalog.DeltasOf("other"), 0u);
  catalog.Remove("full");
  EXPECT_EQ(catalog.DeltasOf("newest"), std::nullopt);
}

TEST(CheckpointCatalogTest, WhatIsSuperfluousGoesBeforeItsParents) {
  CheckpointCatalog catalog({.keep = 1});
  catalog.Add(Facts("full", 10));
  catalog.Add(Facts("delta", 20, "full"));
  catalog.Add(Facts("other", 25));
  catalog.Add(Facts("last", 30, "delta"));
  catalog.Add(Facts("newest", 40));
  EXPECT_THAT(catalog.Superfluous(), ElementsAre("last", "delta", "other", "full"));
}

TEST(CheckpointCatalogTest, WhatWasBuiltOnTheOneThatIsGoneOnFromGoesBeforeIt) {
  CheckpointCatalog catalog({.keep = 1});
  catalog.Add(Facts("from", 10));
  catalog.Add(Facts("worse", 20, "from"));
  catalog.GoOnFrom("from", /*timeline=*/1);
  CheckpointFacts newest = Facts("newest", 15);
  newest.timeline = 2;
  catalog.Add(newest);
  EXPECT_THAT(catalog.Superfluous(), ElementsAre("worse", "from"));
}

TEST(CheckpointCatalogTest, AChainThatBitesItsTailHasAnEnd) {
  CheckpointCatalog catalog({.keep = 1});
  catalog.Add(Facts("a", 10, "b"));
  catalog.Add(Facts("b", 20, "a"));
  EXPECT_THAT(catalog.Superfluous(), IsEmpty());
  EXPECT_EQ(catalog.DeltasOf("a"), std::nullopt);
}

}  // namespace
}  // namespace capstan::chief
