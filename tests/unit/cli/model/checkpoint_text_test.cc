#include "cli/model/checkpoint_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A whole one, a damaged one and an unfinished one.
CheckpointFolder Folder() {
  CheckpointFolder folder;
  folder.checkpoints = {{.id = "3-half", .status = absl::NotFoundError("no manifest"), .bytes = 5},
                        {.id = "1-a", .status = absl::DataLossError("partition-0003 is missing")},
                        {.id = "2-b"}};
  return folder;
}

TEST(CheckpointTextTest, PruningTellsOfADamagedCheckpointAndHowItIsDeleted) {
  const std::vector<std::string> text = PruneText(Folder(), "out/ctr/checkpoints/", {"3-half"});
  EXPECT_THAT(text, Contains(AllOf(HasSubstr("damaged, left for people to look at: 1-a "
                                             "(partition-0003 is missing)"),
                                   HasSubstr("delete out/ctr/checkpoints/1-a by hand"))));
  EXPECT_THAT(text, Contains(HasSubstr("would delete 3-half")));
}

TEST(CheckpointTextTest, AnUnfinishedCheckpointIsNotDamaged) {
  EXPECT_THAT(DamagedText(Folder(), "2-b"),
              ElementsAre("damaged: 1-a (partition-0003 is missing)"));
  EXPECT_THAT(DamagedText(Folder(), "1-a"), IsEmpty());
}

TEST(CheckpointTextTest, WhatIsSaidOfManyPartitionsIsToldOnce) {
  EXPECT_THAT(PartitionsText({"file a is missing", "byte 7 of b", "file a is missing"}),
              ElementsAre("file a is missing (2 partitions)", "byte 7 of b"));
}

TEST(CheckpointTextTest, AJobsFolderIsKnownByTheFolderOfItsCheckpoints) {
  CheckpointFolder job;
  job.foreign = {{"checkpoints", "its name is not <step>-<id>"}, {"state", "likewise"}};
  EXPECT_TRUE(HoldsCheckpointsFolder(job));
  EXPECT_FALSE(HoldsCheckpointsFolder(Folder()));
}

}  // namespace
}  // namespace capstan::cli
