#include "capstan/security/role.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(RoleTest, ANameOfACertificateIsReadAsItIsWritten) {
  for (const Role role : {Role::kChief, Role::kPs, Role::kWorker, Role::kAdmin}) {
    const PeerName name{role, "ctr-2"};
    EXPECT_EQ(ParseDnsName(DnsNameOf(name)), name);
  }
  EXPECT_EQ(DnsNameOf({Role::kPs, "ctr"}), "ps.ctr.capstan");
}

TEST(RoleTest, OtherNamesAreNone) {
  for (const char* name : {"", "ctr", "ps.capstan", "ps..capstan.example", "root.ctr.capstan",
                           "psctr.capstan", ".ctr.capstan", "ps.ctr.capstan.example.org"}) {
    EXPECT_FALSE(ParseDnsName(name).has_value()) << name;
  }
}

TEST(RoleTest, EachRoleMayCallWhatItsWorkNeedsAndNoMore) {
  EXPECT_TRUE(MayCall(Role::kWorker, "/capstan.v1.Ps/Push"));
  EXPECT_FALSE(MayCall(Role::kWorker, "/capstan.v1.Ps/LoadPartitions"));
  EXPECT_FALSE(MayCall(Role::kWorker, "/capstan.v1.Chief/StopJob"));
  EXPECT_TRUE(MayCall(Role::kChief, "/capstan.v1.Ps/LoadPartitions"));
  EXPECT_FALSE(MayCall(Role::kChief, "/capstan.v1.Ps/Push"));
  EXPECT_TRUE(MayCall(Role::kPs, "/capstan.v1.Chief/WatchView"));
  EXPECT_FALSE(MayCall(Role::kPs, "/capstan.v1.Ps/Pull"));
  EXPECT_TRUE(MayCall(Role::kAdmin, "/capstan.v1.Chief/StopJob"));
  EXPECT_FALSE(MayCall(Role::kAdmin, "/capstan.v1.Ps/Pull"));
  EXPECT_FALSE(MayCall(Role::kAdmin, "/capstan.v1.Chief/NewMethod"));
}

}  // namespace
}  // namespace capstan
