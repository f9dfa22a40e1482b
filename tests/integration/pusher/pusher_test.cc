// What the certificate of a pusher lets its holder push: gradients of its own, in a session of its
// own, and nothing in the name of a worker. With a real shard, over TLS.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/wire_version.h"
#include "capstan/rpc/channel.h"
#include "capstan/security/tls.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/lib/test_authority.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

constexpr char kWorkers[] = "the client's certificate is not a worker's: its pushes name ";

// Of one authority.
struct Certificates {
  std::unique_ptr<Tls> NewTls(const std::vector<std::string>& names) const {
    const std::filesystem::path own = root / names.back();
    authority.Issue(own, {.dns_names = names});
    return std::make_unique<Tls>(*LoadTlsIdentity(own.string(), absl::Now()), absl::Seconds(60));
  }

  const TestAuthority authority;
  const TestFolder folder;
  const std::filesystem::path root = folder.path();
  const std::unique_ptr<Tls> shard = NewTls({"ps.ctr.capstan"});
  const std::unique_ptr<Tls> worker = NewTls({"worker.ctr.capstan"});
  const std::unique_ptr<Tls> pusher = NewTls({"client.ctr.capstan", "pusher.ctr.capstan"});
};

const Certificates& TheCertificates() {
  static const Certificates certificates;
  return certificates;
}

class PusherTest : public testing::Test {
 protected:
  // As nobody objects to from a pusher: of a session, and without gradients.
  v1::PushRequest OfASession() const {
    v1::PushRequest push;
    SetHeader(*push.mutable_header());
    push.mutable_stream()->set_stream(StreamId::Session(7).value);
    return push;
  }
  void SetHeader(v1::RequestHeader& header) const {
    header.set_wire_version(kWireVersion);
    *header.mutable_epoch() = shards_.view().epoch();
    header.set_timeline(shards_.view().timeline());
    header.set_target_incarnation(shards_.view().shards(0).incarnation());
  }

  grpc::Status Push(const Tls& as, const v1::PushRequest& push) const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    v1::PushReply reply;
    return StubOf(as)->Push(&context, push, &reply);
  }
  grpc::Status PushPiece(const Tls& as, const v1::PushPieceRequest& piece) const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    v1::PushReply reply;
    return StubOf(as)->PushPiece(&context, piece, &reply);
  }

  // A worker may name it; whether it holds the lease is known by its seal.
  void ExpectForWorkersOnly(const v1::PushRequest& push, const std::string& named) const {
    const grpc::Status refused = Push(*pusher_, push);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << named;
    EXPECT_EQ(refused.error_message(), kWorkers + named);
    EXPECT_NE(Push(*worker_, push).error_code(), grpc::StatusCode::PERMISSION_DENIED) << named;
  }

  std::unique_ptr<v1::Ps::Stub> StubOf(const Tls& as) const {
    return v1::Ps::NewStub(NewChannel(shards_.view().shards(0).address(), Role::kPs, &as));
  }

  const Certificates& certificates_ = TheCertificates();
  const Tls* const worker_ = certificates_.worker.get();
  const Tls* const pusher_ = certificates_.pusher.get();
  LocalShards shards_{
      SmallJob(/*dim=*/1, /*dense_width=*/1), 1, 0, {.tls = certificates_.shard.get()}};
};

TEST_F(PusherTest, APusherPushesToASessionOfItsOwn) {
  const grpc::Status pushed = Push(*pusher_, OfASession());
  EXPECT_TRUE(pushed.ok()) << pushed.error_message();
}

TEST_F(PusherTest, ItNamesNoTrainer) {
  v1::PushRequest push = OfASession();
  push.mutable_header()->set_trainer(11);
  ExpectForWorkersOnly(push, "no trainer");
}

TEST_F(PusherTest, ItTellsNoClock) {
  v1::PushRequest push = OfASession();
  push.mutable_header()->set_clock(uint64_t{1} << 40);
  ExpectForWorkersOnly(push, "no clock");
}

TEST_F(PusherTest, ItStagesForNoLane) {
  v1::PushRequest push = OfASession();
  push.mutable_stage()->set_lane(0);
  ExpectForWorkersOnly(push, "no lane");
}

TEST_F(PusherTest, ItNamesNoLeaseOfATask) {
  v1::PushRequest push = OfASession();
  push.mutable_stream()->set_stream(StreamId::Task(0, 3).value);
  push.mutable_stream()->mutable_generation()->set_count(1);
  ExpectForWorkersOnly(push, "a session and no task");
}

TEST_F(PusherTest, NorInAPieceOfAPush) {
  const std::string whole = OfASession().SerializeAsString();
  v1::PushPieceRequest piece;
  SetHeader(*piece.mutable_header());
  piece.set_push(1);
  piece.set_size(whole.size());
  piece.set_piece(whole);
  const grpc::Status pushed = PushPiece(*pusher_, piece);
  EXPECT_TRUE(pushed.ok()) << pushed.error_message();
  piece.mutable_header()->set_trainer(11);
  EXPECT_EQ(PushPiece(*pusher_, piece).error_message(), std::string(kWorkers) + "no trainer");
  SetHeader(*piece.mutable_header());
  piece.mutable_header()->set_trainer(0);
  v1::PushRequest hidden = OfASession();
  hidden.mutable_header()->set_trainer(11);
  piece.set_piece(hidden.SerializeAsString());
  piece.set_size(piece.piece().size());
  EXPECT_EQ(PushPiece(*pusher_, piece).error_message(), std::string(kWorkers) + "no trainer")
      << "the whole push says it, and no piece of it";
}

}  // namespace
}  // namespace capstan
