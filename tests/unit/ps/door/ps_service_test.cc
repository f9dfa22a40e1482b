// The calls of a shard as gRPC brings them.
#include "ps/door/ps_service.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/server.h"
#include "capstan/rpc/status.h"
#include "ps/partition/partition_content.h"
#include "ps/partition/shard_metrics.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kOfService = 3;       // The timeline.
constexpr uint64_t kServiceProcess = 7;  // The incarnation of the shard.

// A shard on loopback that owns the only partition of an asynchronous job of one tensor.
class PsServiceTest : public ::testing::Test {
 protected:
  PsServiceTest() {
    v1::JobSpec job;
    job.set_job("served");
    job.set_partition_count(1);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(2);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    tensor.mutable_optimizer()->set_learning_rate(1);
    auto shard =
        Shard::Create(job, {ShardIndex{0}, Incarnation{kServiceProcess}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    mover_.emplace(*shard_, Mover::Backgrounds{.gentle = threads_, .hasty = threads_},
                   /*open_peer=*/nullptr);
    saver_.emplace(*shard_, Outside{.background = threads_});
    loader_.emplace(*shard_, Outside{.background = threads_});
    staged_.emplace(*shard_, threads_);
    replicator_.emplace(*shard_);
    served_.emplace(ServedShard{*shard_, *saver_, *loader_, *mover_, *staged_, *replicator_});
  }
  ~PsServiceTest() override { server_->Shutdown(absl::ZeroDuration()); }

  // The shard serves its partition, and calls are handed to it.
  void Serve() {
    CAPSTAN_CHECK(shard_->contents().BeginLoad(kOfService).ok());
    v1::View view;
    view.mutable_epoch()->set_term(1);
    view.mutable_epoch()->set_n(1);
    view.set_timeline(kOfService);
    view.add_owners(0);
    view.add_shards()->set_incarnation(kServiceProcess);
    CAPSTAN_CHECK(shard_->SetView(view).ok());
    auto content =
        InitialContent(shard_->catalog(), PartitionIndex{0}, Timeline{kOfService}, shard_->slabs());
    CAPSTAN_CHECK(content.ok());
    shard_->contents().Load(PartitionIndex{0}, *std::move(content));
    CAPSTAN_CHECK(shard_->contents().Serve(kOfService, {}).ok());
    shard_->view().Followed({.term = 1, .n = 1});
    service_.Serve(&*served_);
  }

  template <typename Request>
  static Request Make() {
    Request request;
    v1::RequestHeader& header = *request.mutable_header();
    header.set_wire_version(kWireVersion);
    header.set_target_incarnation(kServiceProcess);
    header.set_timeline(kOfService);
    header.mutable_epoch()->set_term(1);
    header.mutable_epoch()->set_n(1);
    return request;
  }
  static v1::PullRequest PullOfAll() {
    v1::PullRequest pull = Make<v1::PullRequest>();
    pull.add_partitions()->add_blocks(0);
    return pull;
  }
  static v1::PushRequest PushOfAll(uint64_t seq) {
    const float values[] = {1, 2};
    v1::PushRequest push = Make<v1::PushRequest>();
    push.mutable_stream()->set_stream(41);
    push.mutable_stream()->set_seq(seq);
    push.set_examples(1);
    push.add_partitions()->add_blocks()->set_values(values, sizeof(values));
    return push;
  }

  absl::StatusOr<v1::PullReply> Pull(const v1::PullRequest& request) {
    grpc::ClientContext context;
    v1::PullReply reply;
    const absl::Status status = FromGrpcStatus(stub_->Pull(&context, request, &reply));
    hints_ = context.GetServerTrailingMetadata().count(kRetryHint);
    if (!status.ok()) return status;
    return reply;
  }
  absl::StatusOr<v1::PushReply> Push(const v1::PushRequest& request) {
    grpc::ClientContext context;
    v1::PushReply reply;
    const absl::Status status = FromGrpcStatus(stub_->Push(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }
  absl::StatusOr<v1::PushReply> PushPiece(const std::string& whole, size_t begin, size_t end) {
    v1::PushPieceRequest piece = Make<v1::PushPieceRequest>();
    piece.set_push(1);
    piece.set_oldest(1);
    piece.set_size(whole.size());
    piece.set_offset(begin);
    piece.set_piece(whole.substr(begin, end - begin));
    grpc::ClientContext context;
    v1::PushReply reply;
    const absl::Status status = FromGrpcStatus(stub_->PushPiece(&context, piece, &reply));
    if (!status.ok()) return status;
    return reply;
  }

  FakeClock clock_;
  Threads threads_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  PsService service_{metrics_, /*tls=*/nullptr};
  std::unique_ptr<Shard> shard_;
  std::optional<Saver> saver_;
  std::optional<Loader> loader_;
  std::optional<Mover> mover_;
  std::optional<StagedPartitions> staged_;
  std::optional<Replicator> replicator_;
  std::optional<ServedShard> served_;
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&service_});
  const Channel channel_ = NewPlainChannel(absl::StrCat("127.0.0.1:", server_->port()));
  const std::unique_ptr<v1::Ps::Stub> stub_ = v1::Ps::NewStub(channel_);
  size_t hints_ = 0;  // When to call again, in the answer to the last pull.
};

TEST_F(PsServiceTest, BeforeTheShardKnowsItsJobEachCallIsToComeAgain) {
  EXPECT_TRUE(absl::IsUnavailable(Pull(PullOfAll()).status()));
  EXPECT_TRUE(absl::IsUnavailable(Push(PushOfAll(0)).status()));
  EXPECT_TRUE(absl::IsUnavailable(PushPiece("a push", 0, 3).status()));
  const auto unavailable = [](const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE;
  };
  grpc::ClientContext to_flush;
  v1::FlushReply flushed;
  EXPECT_TRUE(unavailable(stub_->Flush(&to_flush, Make<v1::FlushRequest>(), &flushed)));
  grpc::ClientContext to_open;
  v1::OpenRoundReply opened;
  EXPECT_TRUE(unavailable(stub_->OpenRound(&to_open, Make<v1::OpenRoundRequest>(), &opened)));
  grpc::ClientContext to_take;
  v1::TakePartitionReply taken;
  EXPECT_TRUE(
      unavailable(stub_->TakePartition(&to_take, Make<v1::TakePartitionRequest>(), &taken)));
  grpc::ClientContext to_replicate;
  v1::ReplicateReply replicated;
  EXPECT_TRUE(
      unavailable(stub_->Replicate(&to_replicate, Make<v1::ReplicateRequest>(), &replicated)));
}

TEST_F(PsServiceTest, PullsAndPushesAreAnsweredAndCountedAndNoneIsLeftUnderWay) {
  Serve();
  const auto before = Pull(PullOfAll());
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->partitions(0).blocks(0).values().size(), 2 * sizeof(float));
  const auto pushed = Push(PushOfAll(0));
  ASSERT_TRUE(pushed.ok()) << pushed.status();
  EXPECT_EQ(pushed->partitions(0).dense(), v1::OUTCOME_APPLIED);
  EXPECT_NE(Pull(PullOfAll())->partitions(0).blocks(0).values(),
            before->partitions(0).blocks(0).values());
  v1::PullRequest elsewhere = PullOfAll();
  elsewhere.mutable_header()->set_target_incarnation(kServiceProcess + 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(Pull(elsewhere).status()));
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("\ncapstan_server_pull_requests_total{code=\"OK\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr("\ncapstan_server_pull_requests_total{code=\"FAILED_PRECONDITION\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ncapstan_server_push_requests_total{code=\"OK\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ncapstan_server_inflight_requests 0\n"));
}

TEST_F(PsServiceTest, AReplyForWhichThereIsNoRoomIsToBeAskedForAgainAndATakenOneLeavesItsRoom) {
  Serve();
  ByteBudget& replies = shard_->memory().of(MemoryUse::kReplies);
  replies.SetLimit(1);
  const absl::Status refused = Pull(PullOfAll()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(hints_, 1u) << "it says when";
  replies.SetLimit(1 << 20);
  EXPECT_TRUE(Pull(PullOfAll()).ok());
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (replies.held() > 0) {
    ASSERT_LT(absl::Now(), deadline);
    absl::SleepFor(absl::Milliseconds(1));
  }
}

TEST_F(PsServiceTest, APushInPiecesIsCarriedOutWithItsLastOneAndOnce) {
  Serve();
  const std::string whole = PushOfAll(0).SerializeAsString();
  const auto first = PushPiece(whole, 0, 5);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->partitions_size(), 0);
  const auto last = PushPiece(whole, 5, whole.size());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->partitions(0).dense(), v1::OUTCOME_APPLIED);
  EXPECT_EQ(Push(PushOfAll(0))->partitions(0).dense(), v1::OUTCOME_SETTLED) << "it has been done";
  EXPECT_THAT(registry_.Text(), HasSubstr("\ncapstan_server_push_requests_total{code=\"OK\"} 2\n"));
}

TEST_F(PsServiceTest, BytesThatAreNoOrderOrNoRequestAreRefused) {
  Serve();
  EventLoop loop;
  const grpc::Slice garbage("\xff\xff\xff");
  for (const char* rpc : {"Flush", "Pull", "Push", "Replicate"}) {
    std::optional<absl::Status> told;
    loop.Call(channel_, absl::StrCat("/capstan.v1.Ps/", rpc), grpc::ByteBuffer(&garbage, 1),
              absl::Minutes(1),
              [&told](const absl::StatusOr<grpc::ByteBuffer>& reply) { told = reply.status(); });
    while (!told) loop.Poll(absl::Milliseconds(10));
    EXPECT_TRUE(absl::IsInvalidArgument(*told)) << rpc << ": " << *told;
  }
}

}  // namespace
}  // namespace capstan::ps
