#include "capstan/security/role.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job_reader.pb.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {
namespace {

constexpr Role kAll[] = {Role::kChief, Role::kPs,     Role::kWorker,
                         Role::kAdmin, Role::kClient, Role::kPusher};

// "/capstan.v1.Ps/Push", of all that processes of a job serve each other and people.
std::vector<std::string> Methods() {
  std::vector<std::string> methods;
  for (const auto* file :
       {v1::GetStatusRequest::descriptor()->file(), v1::PushRequest::descriptor()->file(),
        v1::DescribeJobRequest::descriptor()->file()}) {
    const google::protobuf::ServiceDescriptor& service = *file->service(0);
    for (int i = 0; i < service.method_count(); ++i) {
      methods.push_back(absl::StrCat("/", service.full_name(), "/", service.method(i)->name()));
    }
  }
  return methods;
}

TEST(RoleTest, ANameOfACertificateIsReadAsItIsWritten) {
  for (const Role role : kAll) {
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

TEST(RoleTest, AFurtherNameOfAShardsCertificateSaysWhichShardItIsOf) {
  EXPECT_EQ(ShardOfDnsName("ctr-ps-3.ps.ctr.capstan"), 3u);
  EXPECT_EQ(ShardOfDnsName("ps-0.ps.ctr.capstan"), 0u);
  EXPECT_FALSE(ParseDnsName("ctr-ps-3.ps.ctr.capstan").has_value());
  for (const char* name : {"ps.ctr.capstan", "ctr-3.worker.ctr.capstan", "3.ps.ctr.capstan",
                           "ctr-x.ps.ctr.capstan", "ctr-.ps.ctr.capstan", "ctr-3.ps.capstan", "",
                           "ctr-4294967296.ps.ctr.capstan", "a.b-3.ps.ctr.capstan"}) {
    EXPECT_FALSE(ShardOfDnsName(name).has_value()) << name;
  }
}

TEST(RoleTest, EachRoleMayCallWhatItsWorkNeedsAndNoMore) {
  EXPECT_TRUE(MayCall(Role::kWorker, "/capstan.v1.Ps/Push"));
  EXPECT_FALSE(MayCall(Role::kWorker, "/capstan.v1.Ps/LoadPartitions"));
  EXPECT_FALSE(MayCall(Role::kWorker, "/capstan.v1.Chief/StopJob"));
  EXPECT_TRUE(MayCall(Role::kChief, "/capstan.v1.Ps/LoadPartitions"));
  EXPECT_TRUE(MayCall(Role::kWorker, "/capstan.v1.Ps/PushPiece"));
  EXPECT_FALSE(MayCall(Role::kChief, "/capstan.v1.Ps/Push"));
  EXPECT_TRUE(MayCall(Role::kChief, "/capstan.v1.Chief/GetStatus"));
  EXPECT_FALSE(MayCall(Role::kChief, "/capstan.v1.Chief/StopJob"));
  EXPECT_TRUE(MayCall(Role::kPs, "/capstan.v1.Chief/WatchView"));
  EXPECT_FALSE(MayCall(Role::kPs, "/capstan.v1.Ps/Pull"));
  EXPECT_TRUE(MayCall(Role::kAdmin, "/capstan.v1.Chief/StopJob"));
  EXPECT_FALSE(MayCall(Role::kAdmin, "/capstan.v1.Ps/Pull"));
  EXPECT_FALSE(MayCall(Role::kAdmin, "/capstan.v1.Chief/NewMethod"));
}

TEST(RoleTest, AClientLooksAtAJobAPusherPushesAndNeitherGivesOrders) {
  const std::set<std::string> looks = {"/capstan.v1.Chief/GetStatus", "/capstan.v1.Chief/WatchView",
                                       "/capstan.v1.JobReader/DescribeJob", "/capstan.v1.Ps/Pull"};
  const std::set<std::string> pushes = {"/capstan.v1.Ps/Push", "/capstan.v1.Ps/PushPiece"};
  for (const std::string& method : Methods()) {
    EXPECT_EQ(MayCall(Role::kClient, method), looks.contains(method)) << method;
    EXPECT_EQ(MayCall(Role::kPusher, method), pushes.contains(method)) << method;
  }
}

TEST(RoleTest, OnlyAWorkerTrains) {
  for (const Role role : kAll) EXPECT_EQ(MayTrain(role), role == Role::kWorker);
}

TEST(RoleTest, OneNameOfTheJobInACertificateIsEnoughAndNamesOfOtherJobsAreNone) {
  const auto may_stop = [](const std::vector<std::string>& names) {
    return MayCall(names, "ctr", "/capstan.v1.Chief/StopJob");
  };
  EXPECT_TRUE(may_stop({"admin.ctr.capstan"}));
  EXPECT_TRUE(may_stop({"www.example.org", "client.ctr.capstan", "admin.ctr.capstan"}));
  EXPECT_FALSE(may_stop({"client.ctr.capstan", "admin.other.capstan", "admin.ctr", "admin"}));
  EXPECT_FALSE(may_stop({}));
  const auto may_train = [](const std::vector<std::string>& names) {
    return MayTrain(names, "ctr");
  };
  EXPECT_TRUE(may_train({"ps.ctr.capstan", "worker.ctr.capstan"}));
  EXPECT_FALSE(may_train({"ps.ctr.capstan", "worker.other.capstan"}));
  EXPECT_FALSE(may_train({}));
}

TEST(RoleTest, OnlyAShardActsForAShardAndOneWithANumberForNoOther) {
  const auto may = [](const std::vector<std::string>& names) {
    return MayActForShard(names, "ctr", 3);
  };
  EXPECT_TRUE(may({"ps.ctr.capstan"}));
  EXPECT_TRUE(may({"ps.ctr.capstan", "ctr-ps-3.ps.ctr.capstan"}));
  EXPECT_FALSE(may({"ps.ctr.capstan", "ctr-ps-2.ps.ctr.capstan"}));
  for (const std::string role : {"chief", "worker", "admin", "client", "pusher"}) {
    EXPECT_FALSE(may({role + ".ctr.capstan"})) << role;
  }
  EXPECT_FALSE(may({"ps.other.capstan", "ctr-ps-3.ps.other.capstan"}));
  EXPECT_FALSE(may({}));
}

TEST(RoleTest, OnlyACertificateWithTheNumberIsOfOneShardAlone) {
  const auto is = [](const std::vector<std::string>& names) { return IsOfShard(names, "ctr", 3); };
  EXPECT_TRUE(is({"ps.ctr.capstan", "ctr-ps-3.ps.ctr.capstan"}));
  EXPECT_FALSE(is({"ps.ctr.capstan"}));
  EXPECT_FALSE(is({"ps.ctr.capstan", "ctr-ps-2.ps.ctr.capstan"}));
  EXPECT_FALSE(is({"worker.ctr.capstan", "ctr-ps-3.ps.ctr.capstan"})) << "it is no shard";
  EXPECT_FALSE(is({}));
}

TEST(RoleTest, EachMethodIsSomebodysToCall) {
  for (const std::string& method : Methods()) {
    EXPECT_TRUE(std::any_of(std::begin(kAll), std::end(kAll), [&](Role role) {
      return MayCall(role, method);
    })) << method;
  }
}

}  // namespace
}  // namespace capstan
