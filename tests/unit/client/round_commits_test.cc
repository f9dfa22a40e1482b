// To whom a client sends the commit of the round before: to a shard that asks for it, or has not
// said that it does.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "capstan/client/ps_client.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {
namespace {

// A request for a round, as it has arrived.
struct ArrivedRequest {
  bool push = false;
  bool has_commit = false;
  size_t bytes = 0;
};

// A shard of the job below, which answers every pull with zeros, and stages every push.
class ShardOfRounds final : public v1::Ps::CallbackService {
 public:
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const v1::PullRequest* request, v1::PullReply* reply) override {
    absl::MutexLock lock(&mu);
    arrived.push_back({false, request->has_closed(), request->ByteSizeLong()});
    const grpc::Status status = Hear(request->round(), request->closed());
    for (const v1::PartitionPull& wanted : request->partitions()) {
      v1::PartitionValues& values = *reply->add_partitions();
      values.set_partition(wanted.partition());
      for (const uint32_t block : wanted.blocks()) {
        v1::BlockValues& of = *values.add_blocks();
        of.set_block(block);
        of.mutable_values()->resize(BytesOf(block));
      }
    }
    return Answer(context, status);
  }

  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const v1::PushRequest* request, v1::PushReply* reply) override {
    absl::MutexLock lock(&mu);
    return Answer(context, Take(*request, *reply));
  }

  grpc::ServerUnaryReactor* PushPiece(grpc::CallbackServerContext* context,
                                      const v1::PushPieceRequest* request,
                                      v1::PushReply* reply) override {
    absl::MutexLock lock(&mu);
    if (request->offset() == 0) pieces_.clear();
    pieces_ += request->piece();
    if (pieces_.size() < request->size()) return Answer(context, grpc::Status::OK);
    v1::PushRequest whole;
    EXPECT_TRUE(whole.ParseFromString(pieces_));
    return Answer(context, Take(whole, *reply));
  }

  absl::Mutex mu;
  bool early ABSL_GUARDED_BY(mu) = false;  // A shard of an earlier release.
  bool deaf ABSL_GUARDED_BY(mu) = false;   // Asks for every commit, also for one that is there.
  uint64_t last ABSL_GUARDED_BY(mu) = 0;   // The last round whose commit it has heard of.
  std::vector<ArrivedRequest> arrived ABSL_GUARDED_BY(mu);
  const ParameterMap* map = nullptr;  // Set before any request comes.

 private:
  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                          const grpc::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  size_t BytesOf(uint32_t block) const {
    return map->layout().block(BlockId{block}).length * sizeof(float);
  }

  grpc::Status Hear(uint64_t round, const v1::RoundCommit& closed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    if (closed.round() == last + 1) last = closed.round();
    if (!deaf && round <= last + 1) return grpc::Status::OK;
    return {grpc::StatusCode::OUT_OF_RANGE, "the commit is not known here"};
  }

  grpc::Status Take(const v1::PushRequest& push, v1::PushReply& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    arrived.push_back({true, push.stage().has_closed(), push.ByteSizeLong()});
    const grpc::Status status = Hear(push.stage().round(), push.stage().closed());
    reply.set_asks_for_commits(!early);
    for (const v1::PartitionGradient& of : push.partitions()) {
      v1::PartitionOutcome& outcome = *reply.add_partitions();
      outcome.set_partition(of.partition());
      outcome.set_dense(v1::OUTCOME_STAGED);
    }
    return status;
  }

  std::string pieces_ ABSL_GUARDED_BY(mu);  // What has come of the one push in pieces.
};

constexpr uint32_t kCalls = 6;  // A pull or push of everything: one for each partition.
// Floats of the tensor, so that each partition has one block, of the largest size.
constexpr uint32_t kManyBlocks = kCalls << 18;
constexpr size_t kAtOnce = 4;  // Calls that are under way at a time.
constexpr int kLanesOfRounds = 100;

class RoundCommitsTest : public testing::Test {
 protected:
  explicit RoundCommitsTest(uint32_t weights = kManyBlocks) : weights_(weights) {
    shard_.map = &map_;
    server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&shard_});
    SetIncarnation(11);
    plan_.Build({}, /*dense=*/true);
    plan_.Route(client_.owners());
    values_.resize(weights);
  }

  // The view names another process.
  void SetIncarnation(uint64_t incarnation) {
    v1::View view;
    view.mutable_epoch()->set_term(1);
    view.mutable_epoch()->set_n(incarnation);
    view.set_timeline(1);
    v1::ShardInfo& info = *view.add_shards();
    info.set_address(absl::StrCat("127.0.0.1:", server_->port()));
    info.set_incarnation(incarnation);
    for (uint32_t i = 0; i < map_.partition_count(); ++i) view.add_owners(0);
    ASSERT_TRUE(client_.SetView(view));
  }

  PullResult Pull(uint64_t round) {
    Close(round - 1);
    return client_.PullAll(plan_, {.round = RoundName{round, &closed_}}, {.dense = values_.data()});
  }
  PushResult Push(uint64_t round, bool empty = false) {
    Close(round - 1);
    const StageName stage{LaneIndex{0}, {1, 1}, {round, &closed_}};
    PushOptions options{.stage = stage, .timeout = absl::Seconds(60)};
    const PushSource source{.dense = values_.data()};
    if (!empty) return client_.PushAll(plan_, options, source);
    options.empty = true;
    std::optional<PushResult> result;
    client_.Push(ShardIndex{0}, plan_, options, source,
                 [&result](const PushResult& done) { result = done; });
    while (!result) loop_.Poll(absl::Seconds(1));
    return *result;
  }

  // What has arrived since the last call.
  std::vector<ArrivedRequest> Arrived() {
    absl::MutexLock lock(&shard_.mu);
    return std::exchange(shard_.arrived, {});
  }
  static size_t WithCommit(const std::vector<ArrivedRequest>& arrived) {
    size_t count = 0;
    for (const ArrivedRequest& request : arrived) count += request.has_commit ? 1 : 0;
    return count;
  }
  // The coordinator has told the shard of this round.
  void Tell(uint64_t round) {
    absl::MutexLock lock(&shard_.mu);
    shard_.last = round;
  }
  // From now on the client knows that the shard asks.
  void LetItSayThatItAsks() {
    ASSERT_TRUE(Push(1).status.ok());
    Arrived();
  }

  ShardOfRounds shard_;

 private:
  static v1::JobSpec Job(uint32_t weights) {
    v1::JobSpec job;
    job.set_partition_count(weights == kManyBlocks ? kCalls : 1);
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(weights);
    return job;
  }

  // Every lane was in the round before.
  void Close(uint64_t round) {
    closed_ = {.round = round, .lanes = {}, .seal = std::numeric_limits<uint64_t>::max()};
    for (int lane = 0; lane < kLanesOfRounds; ++lane) {
      closed_.lanes.push_back({LaneIndex{lane}, {1, 1}, 64});
    }
  }

  const uint32_t weights_;
  const ParameterMap map_ = *ParameterMap::Create(Job(weights_));
  std::unique_ptr<Server> server_;
  EventLoop loop_;
  PsClient client_{loop_, map_, {.chunks_in_flight = kAtOnce}};
  RequestPlan plan_{map_};
  std::vector<float> values_;
  RoundCommit closed_;
};

TEST_F(RoundCommitsTest, AShardOfAnEarlierReleaseIsSentTheCommitWithEveryRequest) {
  {
    absl::MutexLock lock(&shard_.mu);
    shard_.early = true;
  }
  for (const uint64_t round : {2, 3}) {
    EXPECT_TRUE(Pull(round).status.ok()) << round;
    EXPECT_TRUE(Push(round).status.ok()) << round;
    EXPECT_TRUE(Push(round, /*empty=*/true).status.ok()) << round;
    const std::vector<ArrivedRequest> arrived = Arrived();
    EXPECT_EQ(WithCommit(arrived), arrived.size()) << round;
  }
}

TEST_F(RoundCommitsTest, AShardThatAsksAndHasHeardOfTheCommitIsSentNone) {
  LetItSayThatItAsks();
  Tell(1);
  ASSERT_TRUE(Pull(2).status.ok());
  const std::vector<ArrivedRequest> pulled = Arrived();
  EXPECT_GT(pulled.size(), 1u);
  EXPECT_EQ(WithCommit(pulled), 0u);
  for (const ArrivedRequest& pull : pulled) {
    EXPECT_LT(pull.bytes, size_t{kLanesOfRounds}) << "a byte for each lane would be more";
  }
  ASSERT_TRUE(Push(2).status.ok());
  ASSERT_TRUE(Push(2, /*empty=*/true).status.ok());
  EXPECT_EQ(WithCommit(Arrived()), 0u);
}

TEST_F(RoundCommitsTest, ACommitThatTheShardLacksComesWithTheSameRequestAtOnce) {
  LetItSayThatItAsks();
  ASSERT_TRUE(Pull(2).status.ok());
  std::vector<ArrivedRequest> arrived = Arrived();
  EXPECT_GE(WithCommit(arrived), 1u);
  EXPECT_LE(WithCommit(arrived), kAtOnce) << "calls that are sent later need none";
  EXPECT_EQ(arrived.size() - WithCommit(arrived), kCalls);
  const PushResult pushed = Push(3);
  ASSERT_TRUE(pushed.status.ok()) << pushed.status;
  EXPECT_EQ(pushed.count(v1::OUTCOME_STAGED), kCalls) << "each partition once";
  arrived = Arrived();
  EXPECT_GE(WithCommit(arrived), 1u);
  EXPECT_LE(WithCommit(arrived), kAtOnce);
  EXPECT_EQ(arrived.size() - WithCommit(arrived), kCalls);
  ASSERT_TRUE(Push(4, /*empty=*/true).status.ok());
  arrived = Arrived();
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_FALSE(arrived[0].has_commit);
  EXPECT_TRUE(arrived[1].has_commit);
  ASSERT_TRUE(Push(4).status.ok());
  EXPECT_EQ(WithCommit(Arrived()), 0u) << "it has it now";
}

TEST_F(RoundCommitsTest, WhoeverAsksForWhatItWasSentIsNotSentItOnceMore) {
  LetItSayThatItAsks();
  {
    absl::MutexLock lock(&shard_.mu);
    shard_.deaf = true;
  }
  EXPECT_TRUE(absl::IsOutOfRange(Push(2, /*empty=*/true).status));
  EXPECT_EQ(Arrived().size(), 2u);
  EXPECT_TRUE(absl::IsOutOfRange(Pull(2).status));
  EXPECT_LE(Arrived().size(), 2 * kAtOnce);
}

TEST_F(RoundCommitsTest, AnotherProcessHasYetToSayThatItAsks) {
  LetItSayThatItAsks();
  SetIncarnation(12);
  ASSERT_TRUE(Pull(2).status.ok());
  const std::vector<ArrivedRequest> arrived = Arrived();
  EXPECT_EQ(WithCommit(arrived), arrived.size());
}

class LargeRoundCommitsTest : public RoundCommitsTest {
 protected:
  LargeRoundCommitsTest() : RoundCommitsTest(/*weights=*/17 << 20) {}  // 68 MiB in one partition.
};

TEST_F(LargeRoundCommitsTest, APushInPiecesCarriesTheCommitSoThatItNeverTravelsTwice) {
  ASSERT_TRUE(Push(1, /*empty=*/true).status.ok());
  Arrived();
  const PushResult pushed = Push(2);
  ASSERT_TRUE(pushed.status.ok()) << pushed.status;
  EXPECT_EQ(pushed.count(v1::OUTCOME_STAGED), 1u);
  const std::vector<ArrivedRequest> arrived = Arrived();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_TRUE(arrived[0].has_commit);
}

}  // namespace
}  // namespace capstan
