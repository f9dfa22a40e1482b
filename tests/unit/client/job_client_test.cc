#include "capstan/client/job_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/rpc/server.h"
#include "tests/unit/client/fake_job.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using JobClientTest = FakeJobTest;

TEST_F(JobClientTest, RowsComeInTheOrderOfTheirKeysAlsoOfThoseThatComeTwice) {
  const auto job = Connect();
  const std::vector<uint64_t> keys = {12, 345, 7, 12};
  const std::vector<float> rows = *job->PullRows("item", keys);
  ASSERT_EQ(rows.size(), keys.size() * kDim);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i], OfRow(2, keys[i / kDim], static_cast<uint32_t>(i % kDim))) << i;
  }
  EXPECT_TRUE(job->PullRows("item", {})->empty());
  EXPECT_EQ(shards_[0].training_pulls + shards_[1].training_pulls, 0) << "they change nothing";
}

TEST_F(JobClientTest, MoreRowsThanAMessageHoldsArePulledInSlices) {
  std::vector<uint64_t> keys(600'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i % 1000;
  const std::vector<float> rows = *Connect()->PullRows("user", keys);
  ASSERT_EQ(rows.size(), keys.size() * kDim);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i], OfRow(1, keys[i / kDim], static_cast<uint32_t>(i % kDim))) << i;
  }
}

TEST_F(JobClientTest, OfATensorOnlyItsBlocksArePulled) {
  const auto job = Connect();
  const ParameterMap map = *ParameterMap::Create(Job());
  EXPECT_THAT(*job->PullTensor("w7"), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(shards_[0].pulls + shards_[1].pulls, 1);
  const std::vector<float> values = *job->PullTensor(absl::StrCat("w", kWeights));
  ASSERT_EQ(values.size(), kWeights);
  for (const Block& block : map.layout().blocks()) {
    if (block.tensor != 1) continue;
    for (uint32_t i = 0; i < block.length; ++i) {
      ASSERT_EQ(values[block.offset + i], OfBlock(Raw(block.id), i));
    }
  }
}

TEST_F(JobClientTest, WhatIsUnknownIsToldWithWhatThereIs) {
  const auto job = Connect();
  EXPECT_EQ(job->PullRows("usr", {1}).status(),
            absl::NotFoundError("job ctr has no table \"usr\"; it has user, item"));
  EXPECT_EQ(job->PullTensor("w").status(),
            absl::NotFoundError("job ctr has no tensor \"w\"; it has w7, w40000"));
}

TEST_F(JobClientTest, APullIsRepeatedWhileAPartitionIsOnItsWay) {
  shards_[1].refuses = 3;
  EXPECT_TRUE(Connect()->PullTensor(absl::StrCat("w", kWeights)).ok());
  EXPECT_GE(shards_[1].pulls, 4);
}

TEST_F(JobClientTest, WhoCancelsTheirCallsAsTheyEndHaveNotAnswered) {
  shards_[1].refuses = 2;
  shards_[1].refusal = {grpc::StatusCode::CANCELLED, "CANCELLED"};
  const auto job = Connect({.chief_patience = absl::Milliseconds(300)});
  EXPECT_TRUE(job->PullTensor(absl::StrCat("w", kWeights)).ok());
  EXPECT_GE(shards_[1].pulls, 3);
  chief_.status = reader_.status = {grpc::StatusCode::CANCELLED, "CANCELLED"};
  const absl::Status expected = absl::UnavailableError(
      absl::StrCat("chief at ", address(), ": tried for 300ms: the call was cancelled there"));
  EXPECT_EQ(job->Status().status(), expected);
  EXPECT_EQ(Connect({.chief_patience = absl::Milliseconds(300)})->Describe().status(), expected);
}

TEST_F(JobClientTest, APullWhoseConnectionIsResetIsRepeated) {
  for (const grpc::StatusCode code : {grpc::StatusCode::INTERNAL, grpc::StatusCode::UNKNOWN}) {
    shards_[1].refuses = 2;
    shards_[1].refusal = {code, "RST_STREAM"};
    EXPECT_TRUE(Connect()->PullTensor(absl::StrCat("w", kWeights)).ok()) << code;
  }
}

TEST_F(JobClientTest, APullThatIsNeverAnsweredEndsWithTheReason) {
  shards_[0].refuses = shards_[1].refuses = 1'000'000;
  const absl::Status status =
      Connect({.pull_patience = absl::Milliseconds(300)})->PullTensor("w7").status();
  EXPECT_EQ(status, absl::UnavailableError(
                        absl::StrCat("chief at ", address(), ": tried for 300ms: not the owner")));
}

TEST_F(JobClientTest, WhatNoRepetitionMendsIsToldAtOnce) {
  shards_[0].refuses = shards_[1].refuses = 1'000'000;
  for (FakeShard& shard : shards_) {
    shard.refusal = {grpc::StatusCode::PERMISSION_DENIED, "not you"};
  }
  EXPECT_EQ(Connect()->PullTensor("w7").status(),
            absl::PermissionDeniedError(absl::StrCat("chief at ", address(), ": not you")));
  EXPECT_EQ(shards_[0].pulls + shards_[1].pulls, 1);
}

TEST_F(JobClientTest, AJobThatIsNotThereYetIsWaitedForAndTold) {
  reader_.status = {grpc::StatusCode::UNAVAILABLE, "the chief has no job yet: the model"};
  const auto job = Connect({.chief_patience = absl::Milliseconds(300)});
  EXPECT_EQ(job->Status()->job(), "ctr");
  EXPECT_EQ(job->PullTensor("w7").status(),
            absl::UnavailableError(absl::StrCat(
                "chief at ", address(), ": tried for 300ms: the chief has no job yet: the model")));
}

TEST_F(JobClientTest, AChiefThatIsNotThereIsNamed) {
  const auto job = Connect({.chief_patience = absl::Milliseconds(300)});
  server_->Shutdown(absl::ZeroDuration());
  const absl::Status status = job->Status().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("chief at ", address(), ": tried for 300ms: ")));
}

TEST_F(JobClientTest, PullsGoOnWithoutTheChief) {
  const auto job = Connect();
  ASSERT_TRUE(job->PullTensor("w7").ok());
  server_->Shutdown(absl::ZeroDuration());
  EXPECT_TRUE(job->PullTensor("w7").ok());
  EXPECT_EQ(job->Describe()->job(), "ctr");
}

// The names of a network that is not this one, and what leads to them.
class FakeNetwork : public AddressResolver {
 public:
  absl::StatusOr<std::string> Resolve(const std::string& address) override {
    ++asked[address];
    const auto found = dialled.find(address);
    if (found != dialled.end()) return found->second;
    return absl::Status(refusal.code(), absl::StrCat(address, ": ", refusal.message()));
  }
  void Forget(const std::string& address) override { forgotten.push_back(address); }

  std::map<std::string, std::string> dialled;
  absl::Status refusal = absl::UnavailableError("nothing leads there yet");
  std::map<std::string, int> asked;
  std::vector<std::string> forgotten;
};

class JobElsewhereTest : public JobClientTest {
 protected:
  JobElsewhereTest() {
    network_->dialled["ctr-chief:7000"] = address();
    for (const int i : {0, 1}) {
      v1::ShardInfo& info = *chief_.view.mutable_shards(i);
      network_->dialled[absl::StrCat("ctr-ps-", i, ":7000")] = info.address();
      info.set_address(absl::StrCat("ctr-ps-", i, ":7000"));
    }
  }

  // Once.
  std::unique_ptr<JobClient> ConnectFromHere() {
    return *JobClient::Create({.chief = "ctr-chief:7000",
                               .chief_patience = absl::Seconds(1),
                               .pull_patience = absl::Seconds(1),
                               .resolver = std::unique_ptr<FakeNetwork>(network_)});
  }

  FakeNetwork* const network_ = new FakeNetwork;  // The client's, once there is one.
};

TEST_F(JobElsewhereTest, TheChiefAndTheShardsThatAPullNeedsAreDialledWhereTheResolverSays) {
  const auto job = ConnectFromHere();
  EXPECT_EQ(job->Status()->job(), "ctr");
  EXPECT_THAT(*job->PullTensor("w7"), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(network_->asked.count("ctr-ps-0:7000") + network_->asked.count("ctr-ps-1:7000"), 1u);
  EXPECT_TRUE(job->PullTensor(absl::StrCat("w", kWeights)).ok());
  EXPECT_EQ(network_->asked.size(), 3u);
}

TEST_F(JobElsewhereTest, WhatNothingLeadsToYetIsWaitedForAndTold) {
  const auto job = ConnectFromHere();
  const auto to_shard = network_->dialled.extract("ctr-ps-1:7000");
  const std::string large = absl::StrCat("w", kWeights);
  EXPECT_EQ(job->PullTensor(large).status(),
            absl::UnavailableError("chief at ctr-chief:7000: tried for 1s: ctr-ps-1:7000: "
                                   "nothing leads there yet"));
  EXPECT_GT(network_->asked["ctr-ps-1:7000"], 1);
  EXPECT_THAT(network_->forgotten,
              UnorderedElementsAre("ctr-chief:7000", "ctr-ps-0:7000", "ctr-ps-1:7000"))
      << "what leads there may hang";
  network_->dialled["ctr-ps-1:7000"] = to_shard.mapped();
  EXPECT_TRUE(job->PullTensor(large).ok());
  network_->dialled.erase("ctr-chief:7000");
  EXPECT_EQ(job->Status().status(),
            absl::UnavailableError("chief at ctr-chief:7000: tried for 1s: ctr-chief:7000: "
                                   "nothing leads there yet"));
  EXPECT_TRUE(job->PullTensor(large).ok()) << "it goes on without the chief";
}

TEST_F(JobElsewhereTest, WhatWillNotLeadThereIsToldAtOnce) {
  const auto job = ConnectFromHere();
  network_->dialled.clear();
  network_->refusal = absl::NotFoundError("no such release");
  EXPECT_EQ(job->Status().status(),
            absl::NotFoundError("chief at ctr-chief:7000: ctr-chief:7000: no such release"));
  EXPECT_EQ(network_->asked["ctr-chief:7000"], 1);
  EXPECT_EQ(job->PullTensor("w7").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobElsewhereTest, AShardThatAnotherProcessReplacesIsForgottenAndTheOthersAreNot) {
  const auto job = ConnectFromHere();
  const std::string large = absl::StrCat("w", kWeights);
  ASSERT_TRUE(job->PullTensor(large).ok());
  EXPECT_TRUE(network_->forgotten.empty());
  FakeChief next;  // Under the same name, and tells of another process.
  next.view = chief_.view;
  next.view.mutable_epoch()->set_term(2);
  next.view.mutable_shards(1)->set_incarnation(7);
  FakeReader reader;
  server_->Shutdown(absl::ZeroDuration());
  const auto server = *Server::Start({.listen = "127.0.0.1:0"}, {&next, &reader});
  network_->dialled["ctr-chief:7000"] = absl::StrCat("127.0.0.1:", server->port());
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (network_->forgotten.empty() && absl::Now() < deadline) {
    ASSERT_TRUE(job->PullTensor(large).ok());
  }
  EXPECT_THAT(network_->forgotten, ElementsAre("ctr-ps-1:7000"));
}

TEST_F(JobClientTest, AWaitCanBeInterrupted) {
  shards_[0].refuses = shards_[1].refuses = 1'000'000;
  std::atomic<bool> interrupted = false;
  const auto job = Connect({.interrupted = [&interrupted] { return interrupted.load(); }});
  std::thread soon([&interrupted] {
    absl::SleepFor(absl::Milliseconds(200));
    interrupted = true;
  });
  EXPECT_EQ(job->PullTensor("w7").status().code(), absl::StatusCode::kCancelled);
  soon.join();
  interrupted = false;
  shards_[0].refuses = shards_[1].refuses = 0;
  EXPECT_TRUE(job->PullTensor("w7").ok()) << "it can be used on";
}

TEST_F(JobClientTest, AFolderWithoutCertificatesIsNamed) {
  const absl::Status status =
      JobClient::Create({.chief = address(), .tls = "/nothing/here"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nothing/here/tls.crt"));
}

}  // namespace
}  // namespace capstan
