// What is a checkpoint's by its name, and what is a stranger's.
#include "capstan/checkpoint/checkpoint_names.h"

#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(CheckpointNamesTest, ACheckpointIsNamedByItsStepAndAnId) {
  for (const char* name : {"000000000976-000100012b3c", "976-1", "9-a-full", "9-a.b_c"}) {
    EXPECT_TRUE(IsCheckpointName(name)) << name;
  }
  for (const char* name :
       {"", "-", "9", "9-", "-a", "a-9", "9 -a", "+9-a", "9-a b", "9-a/b", "9-\xC3\xA4", ".."}) {
    EXPECT_FALSE(IsCheckpointName(name)) << name;
  }
}

TEST(CheckpointNamesTest, ItsObjectsAreTheManifestAndThePartitionsFiles) {
  for (const char* name : {"MANIFEST.json", "partition-0000.capstan", "partition-12345.capstan",
                           "partition-2147483647.capstan"}) {
    EXPECT_TRUE(IsCheckpointObject(name)) << name;
  }
  for (const char* name :
       {"", "partition-.capstan", "partition-7.capstan", "partition-00007.capstan",
        "partition--007.capstan", "partition- 007.capstan", "partition-+007.capstan",
        "partition-2147483648.capstan", "partition.0000-capstan", "partition-0000", "MANIFEST.JSON",
        "a/MANIFEST.json", "a/partition-0000.capstan", "partition-0000.capstan2"}) {
    EXPECT_FALSE(IsCheckpointObject(name)) << name;
  }
}

}  // namespace
}  // namespace capstan
