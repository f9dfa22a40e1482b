#include "ps/transfer/replica_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

TEST(ReplicaFailureTest, ABackupThatKnowsNoPiecesIsOfAnEarlierRelease) {
  EXPECT_THAT(std::string(ReplicaFailure(absl::UnimplementedError(""), /*in_pieces=*/true)),
              HasSubstr("an earlier release cannot take shares above 63 MiB until it is updated"));
}

TEST(ReplicaFailureTest, AnyOtherFailureIsASilence) {
  const std::string silent = "a backup does not answer";
  EXPECT_EQ(ReplicaFailure(absl::UnavailableError("away"), /*in_pieces=*/true), silent);
  EXPECT_EQ(ReplicaFailure(absl::UnavailableError("away"), /*in_pieces=*/false), silent);
  EXPECT_EQ(ReplicaFailure(absl::UnimplementedError("wire version 1"), /*in_pieces=*/false),
            silent);
}

}  // namespace
}  // namespace capstan::ps
