#include "capstan/client/job_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "capstan/v1/job_reader.grpc.pb.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr uint32_t kPartitionsOfJob = 4;
constexpr uint32_t kDim = 3;
constexpr uint32_t kWeights = 40'000;  // Of the second tensor: several blocks.

v1::JobSpec Job() {
  v1::JobSpec job;
  job.set_job("ctr");
  job.set_partition_count(kPartitionsOfJob);
  for (const char* name : {"user", "item"}) {
    v1::TableSpec& table = *job.add_tables();
    table.set_id(static_cast<uint32_t>(job.tables_size()));
    table.set_name(name);
    table.set_dim(kDim);
  }
  for (const uint32_t size : {7u, kWeights}) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(absl::StrCat("w", size));
    tensor.add_shape(size);
  }
  return job;
}

// The value of an element of a row, and of a block.
float OfRow(uint32_t table, uint64_t key, uint32_t i) {
  return static_cast<float>(table * 1000 + key * 10 + i);
}
float OfBlock(uint32_t block, uint32_t i) { return static_cast<float>(block * 100'000 + i); }

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// Answers what the functions above say, or refuses.
class FakeShard final : public v1::Ps::CallbackService {
 public:
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const v1::PullRequest* request, v1::PullReply* reply) override {
    ++pulls;
    if (!request->evaluation()) ++training_pulls;
    const ParameterMap map = *ParameterMap::Create(Job());
    for (const v1::PartitionPull& wanted : request->partitions()) {
      v1::PartitionValues& values = *reply->add_partitions();
      values.set_partition(wanted.partition());
      for (const v1::TableKeys& keys : wanted.tables()) {
        v1::TableValues& rows = *values.add_tables();
        rows.set_table(keys.table());
        for (size_t at = 0; at < keys.keys().size(); at += sizeof(uint64_t)) {
          uint64_t key = 0;
          std::memcpy(&key, keys.keys().data() + at, sizeof(key));
          for (uint32_t i = 0; i < kDim; ++i) Append(OfRow(keys.table(), key, i), rows);
        }
      }
      for (const uint32_t block : wanted.blocks()) {
        v1::BlockValues& of = *values.add_blocks();
        of.set_block(block);
        for (uint32_t i = 0; i < map.layout().block(BlockId{block}).length; ++i) {
          Append(OfBlock(block, i), of);
        }
      }
    }
    const bool refused = refuses > 0 && refuses-- > 0;
    return Answer(context, refused ? refusal : grpc::Status::OK);
  }

  std::atomic<int> pulls = 0;
  std::atomic<int> training_pulls = 0;
  std::atomic<int> refuses = 0;  // So many pulls.
  grpc::Status refusal{grpc::StatusCode::FAILED_PRECONDITION, "not the owner"};

 private:
  template <typename Values>
  static void Append(float value, Values& values) {
    values.mutable_values()->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
};

// Tells one view, and holds the stream.
class OneView final : public grpc::ServerWriteReactor<v1::View> {
 public:
  explicit OneView(v1::View view) : view_(std::move(view)) { StartWrite(&view_); }
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  const v1::View view_;
};

class FakeChief final : public v1::Chief::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest*,
                                      v1::GetStatusReply* reply) override {
    reply->set_job("ctr");
    return Answer(context, status);
  }
  grpc::ServerWriteReactor<v1::View>* WatchView(grpc::CallbackServerContext*,
                                                const v1::WatchViewRequest*) override {
    return new OneView(view);
  }

  grpc::Status status;
  v1::View view;
};

class FakeReader final : public v1::JobReader::CallbackService {
 public:
  grpc::ServerUnaryReactor* DescribeJob(grpc::CallbackServerContext* context,
                                        const v1::DescribeJobRequest*,
                                        v1::DescribeJobReply* reply) override {
    *reply->mutable_job() = Job();
    return Answer(context, status);
  }

  grpc::Status status;
};

class JobClientTest : public testing::Test {
 protected:
  JobClientTest() {
    for (const uint32_t i : {0u, 1u}) {
      shard_servers_[i] = *Server::Start({.listen = "127.0.0.1:0"}, {&shards_[i]});
      v1::ShardInfo& info = *chief_.view.add_shards();
      info.set_index(i);
      info.set_address(absl::StrCat("127.0.0.1:", shard_servers_[i]->port()));
    }
    chief_.view.mutable_epoch()->set_term(1);
    for (uint32_t i = 0; i < kPartitionsOfJob; ++i) chief_.view.add_owners(i % 2);
    server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&chief_, &reader_});
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

  std::unique_ptr<JobClient> Connect(JobClientOptions options = {}) {
    options.chief = address();
    return *JobClient::Create(std::move(options));
  }

  FakeShard shards_[2];
  FakeChief chief_;
  FakeReader reader_;
  std::unique_ptr<Server> shard_servers_[2];
  std::unique_ptr<Server> server_;
};

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
