#include "capstan/security/role.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"

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
  EXPECT_TRUE(MayCall(Role::kChief, "/capstan.v1.Chief/GetStatus"));
  EXPECT_FALSE(MayCall(Role::kChief, "/capstan.v1.Chief/StopJob"));
  EXPECT_TRUE(MayCall(Role::kPs, "/capstan.v1.Chief/WatchView"));
  EXPECT_FALSE(MayCall(Role::kPs, "/capstan.v1.Ps/Pull"));
  EXPECT_TRUE(MayCall(Role::kAdmin, "/capstan.v1.Chief/StopJob"));
  EXPECT_FALSE(MayCall(Role::kAdmin, "/capstan.v1.Ps/Pull"));
  EXPECT_FALSE(MayCall(Role::kAdmin, "/capstan.v1.Chief/NewMethod"));
}

TEST(RoleTest, EachMethodIsSomebodysToCall) {
  for (const auto* file :
       {v1::GetStatusRequest::descriptor()->file(), v1::PushRequest::descriptor()->file()}) {
    const google::protobuf::ServiceDescriptor& service = *file->service(0);
    for (int i = 0; i < service.method_count(); ++i) {
      const std::string method =
          absl::StrCat("/", service.full_name(), "/", service.method(i)->name());
      const Role roles[] = {Role::kChief, Role::kPs, Role::kWorker, Role::kAdmin};
      EXPECT_TRUE(std::any_of(std::begin(roles), std::end(roles), [&](Role role) {
        return MayCall(role, method);
      })) << method;
    }
  }
}

}  // namespace
}  // namespace capstan
