#include "worker/session/map_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::worker {
namespace {

using testing::ElementsAre;

v1::View ViewOf(std::initializer_list<uint32_t> owners, std::initializer_list<uint32_t> shards) {
  v1::View view;
  for (uint32_t owner : owners) view.add_owners(owner);
  for (uint32_t shard : shards) view.add_shards()->set_index(shard);
  return view;
}

TEST(MapWatchTest, ShardsAreThoseOfTheViewWhateverTheirIndexes) {
  EXPECT_THAT(ShardsOf(ViewOf({5, 0}, {5, 0, 2})),
              ElementsAre(ShardIndex{0}, ShardIndex{2}, ShardIndex{5}));
}

TEST(MapWatchTest, PartitionsHaveMovedWhereOwnersDifferOrOneHasBegunAnew) {
  MapWatch watch(ViewOf({0, 1}, {0, 1}));
  EXPECT_FALSE(watch.Take(ViewOf({0, 1}, {0, 1, 2}), {}).moved) << "it only has joined";
  EXPECT_TRUE(watch.Take(ViewOf({0, 2}, {0, 1, 2}), {}).moved);
  EXPECT_FALSE(watch.Take(ViewOf({0, 2}, {0, 2}), {}).moved) << "against the view before";
  EXPECT_TRUE(watch.Take(ViewOf({0, 2}, {0, 2}), {ShardIndex{2}}).moved);
}

}  // namespace
}  // namespace capstan::worker
