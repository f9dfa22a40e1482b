#include "capstan/security/shard_secret.h"

#include <gtest/gtest.h>

#include <string>

namespace capstan {
namespace {

TEST(ShardSecretTest, NoTwoSecretsAndNoTwoIncarnationsAreTheSame) {
  const std::string one = NewShardSecret();
  const std::string other = NewShardSecret();
  EXPECT_GE(one.size(), 16u);
  EXPECT_NE(one, other);
  EXPECT_EQ(IncarnationOfSecret(one), IncarnationOfSecret(one));
  EXPECT_NE(IncarnationOfSecret(one), IncarnationOfSecret(other));
  EXPECT_NE(Raw(IncarnationOfSecret("")), 0u);
}

// The SHA-256 of "capstan shard incarnation" and the secret, as other programs compute it.
TEST(ShardSecretTest, AChiefOfAnotherReleaseMakesTheSameIncarnationOfASecret) {
  EXPECT_EQ(Raw(IncarnationOfSecret("a secret")), 0x3926b1ce899b99c9u);
  EXPECT_EQ(Raw(IncarnationOfSecret("another secret")), 0xb1606239ce4c5a07u);
}

TEST(ShardSecretTest, OnlyASecretOfTheLengthOfOneIsLookedAt) {
  const std::string secret = NewShardSecret();
  EXPECT_TRUE(IsSecretOf(secret, IncarnationOfSecret(secret)));
  EXPECT_FALSE(IsSecretOf(secret, IncarnationOfSecret("another secret")));
  const std::string longest(64, 'x');
  EXPECT_TRUE(IsSecretOf(longest, IncarnationOfSecret(longest)));
  EXPECT_FALSE(IsSecretOf(longest + "x", IncarnationOfSecret(longest + "x")));
}

}  // namespace
}  // namespace capstan
