// What workers, shards and the chief ask of a shard, through its door: whatever arrives, it
// answers, and what it holds afterwards can be saved and read back. What somebody asks whose role
// it is not changes nothing, and neither does a request with a header that the shard does not
// accept.
//
// First byte: the job's policies. The rest is a list of requests, which get a header that the shard
// accepts here until the input says otherwise, and of certificates of those who call from then on.
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/security/role.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "capstan/wire/reader.h"
#include "ps/door/caller_check.h"
#include "ps/door/shard_door.h"
#include "tests/fuzz/caller.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/small_shard.h"

namespace capstan::ps {
namespace {

// What a shard is asked, by its kind.
enum Kind : uint8_t {
  kPush,
  kPull,
  kOpenRound,
  kReportLane,
  kHoldRounds,
  kWatchCounts,
  kCommitRound,
  kCloseStreams,
  kPushPiece,
  kKinds,  // Those of the first inputs.
  kCaller = kKinds,
  kFlush,
  kOwnHeaders,
};
constexpr uint8_t kFurther = 3;
constexpr absl::Duration kPatience = absl::Hours(1);

// A shard, and who calls it.
class Asked {
 public:
  explicit Asked(Shard& shard) : shard_(shard) {}

  void Hear(uint8_t kind, std::string_view message);

 private:
  void Push(std::string_view request);
  void Pull(std::string_view request);
  void TakePiece(const v1::PushPieceRequest& piece);
  template <typename Request, typename Ask>
  void AskCoordinator(std::string_view message, Ask ask);
  template <typename Request, typename Carry>
  void Order(std::string_view message, Carry carry);
  // Takes the answer to a call, and notes that there was one.
  static auto Tell(bool& answered) {
    return [&answered](const auto& /*answer*/) { answered = true; };
  }
  bool MayCall(std::string_view method, std::initializer_list<Role> roles) const {
    return caller_.MayCall(absl::StrCat("/capstan.v1.Ps/", AbslView(method)), roles);
  }

  Shard& shard_;
  Caller caller_;
  bool own_headers_ = false;  // Requests but pulls and pushes keep the headers that they come with.
  Threads threads_;
  // Nobody orders anything of these here.
  Saver saver_{shard_, Outside{.background = threads_}};
  Loader loader_{shard_, Outside{.background = threads_}};
  Mover mover_{shard_, Mover::Backgrounds{.gentle = threads_, .hasty = threads_},
               /*open_peer=*/nullptr};
  StagedPartitions staged_{shard_, threads_};
  Replicator replicator_{shard_};
  const ServedShard served_{shard_, saver_, loader_, mover_, staged_, replicator_};
  const ShardDoor door_{&served_};
};

// Others than workers push to sessions of their own, or change nothing.
void Asked::Push(std::string_view request) {
  if (caller_.MayTrain()) return void(PushTo(door_, shard_, request, /*may_train=*/true));
  const std::string before = ContentOf(shard_);
  if (!PushTo(door_, shard_, request, /*may_train=*/false)) {
    CAPSTAN_CHECK(ContentOf(shard_) == before);
  }
}

// The pulls of others than workers change nothing, not even by a row that is made for them.
void Asked::Pull(std::string_view request) {
  auto query = door_.ReadPull(WithHeader(shard_, request));
  const bool may_train = caller_.MayTrain();
  if (!query.ok() || !CheckPuller(may_train, (*query)->head()).ok()) return;
  const std::string before = may_train ? "" : ContentOf(shard_);
  bool answered = false;
  door_.Pull(*std::move(query), kPatience,
             [&answered](const absl::StatusOr<grpc::ByteBuffer>& reply, absl::Duration) {
               answered = true;
               if (!reply.ok()) return;
               const wire::Message message(*reply);
               v1::PullReply head;
               wire::Payload payload;
               CAPSTAN_CHECK(wire::Read(wire::kPullReply, message, head, payload).ok());
             });
  CAPSTAN_CHECK(answered);  // No part is ssp.
  CAPSTAN_CHECK(may_train || ContentOf(shard_) == before);
}

// Of the coordinator; some wait, and are forgotten.
template <typename Request, typename Ask>
void Asked::AskCoordinator(std::string_view message, Ask ask) {
  Request request;
  if (!Parse(message, request)) return;
  if (!own_headers_) Accept(shard_, shard_.timeline(), *request.mutable_header());
  const bool accepted = shard_.view().CheckHeader(request.header()).ok();
  bool answered = false;
  const std::optional<WaiterId> waiter = ask(request, answered);
  CAPSTAN_CHECK(answered || (waiter.has_value() && shard_.coordinator().Forget(*waiter)));
  CAPSTAN_CHECK(accepted || answered);
}

template <typename Request, typename Carry>
void Asked::Order(std::string_view message, Carry carry) {
  Request request;
  if (!Parse(message, request)) return;
  if (!own_headers_) Accept(shard_, shard_.timeline(), *request.mutable_header());
  const bool accepted = shard_.view().CheckHeader(request.header()).ok();
  const std::string before = accepted ? "" : ContentOf(shard_);
  bool answered = false;
  carry(request, answered);
  CAPSTAN_CHECK(answered);  // Nobody backs the shard up, for whom the answer would wait.
  CAPSTAN_CHECK(accepted || ContentOf(shard_) == before);
}

// A piece of a push; the last one brings the push to the shard.
void Asked::TakePiece(const v1::PushPieceRequest& piece) {
  if (!door_.ForData(piece.header()).ok() || !CheckPusher(caller_.MayTrain(), piece).ok()) return;
  const auto push = shard_.pieces().Take({"peer:1", "peer"}, piece, absl::UnixEpoch());
  if (!push.ok() || !push->has_value()) return;
  CAPSTAN_CHECK((*push)->Length() == piece.size());
  std::vector<grpc::Slice> slices;
  CAPSTAN_CHECK((*push)->Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  Push(bytes);
}

void Asked::Hear(uint8_t kind, std::string_view message) {
  switch (KindOf(kind, kKinds, kFurther)) {
    case kPush:
      if (MayCall("Push", {Role::kWorker, Role::kPusher})) Push(message);
      return;
    case kPull:
      if (MayCall("Pull", {Role::kWorker, Role::kClient})) Pull(message);
      return;
    case kOpenRound:
      if (!MayCall("OpenRound", {Role::kWorker})) return;
      return AskCoordinator<v1::OpenRoundRequest>(message,
                                                  [this](const auto& request, bool& answered) {
                                                    return door_.OpenRound(request, Tell(answered));
                                                  });
    case kReportLane:
      if (!MayCall("ReportLane", {Role::kWorker})) return;
      return Order<v1::ReportLaneRequest>(message, [this](const auto& request, bool& answered) {
        door_.ReportLane(request, Tell(answered));
      });
    case kHoldRounds:
      if (!MayCall("HoldRounds", {Role::kChief})) return;
      return AskCoordinator<v1::HoldRoundsRequest>(
          message, [this](const auto& request, bool& answered) {
            return door_.Order(request, kPatience, Tell(answered));
          });
    case kWatchCounts:
      if (!MayCall("WatchCounts", {Role::kPs})) return;
      return AskCoordinator<v1::WatchCountsRequest>(
          message, [this](const auto& request, bool& answered) {
            return door_.WatchCounts(request, kPatience, Tell(answered));
          });
    case kCommitRound:
      if (!MayCall("CommitRound", {Role::kChief})) return;
      return Order<v1::CommitRoundRequest>(message, [this](const auto& request, bool& answered) {
        door_.Order(request, kPatience, Tell(answered));
      });
    case kCloseStreams:
      if (!MayCall("CloseStreams", {Role::kChief})) return;
      return Order<v1::CloseStreamsRequest>(message, [this](const auto& request, bool& answered) {
        door_.Order(request, kPatience, Tell(answered));
      });
    case kPushPiece:
      if (!MayCall("PushPiece", {Role::kWorker, Role::kPusher})) return;
      return Order<v1::PushPieceRequest>(message, [this](const auto& piece, bool& answered) {
        TakePiece(piece);
        answered = true;
      });
    case kCaller:
      return caller_.Become(message);
    case kOwnHeaders:
      own_headers_ = true;
      return;
    default:
      if (!MayCall("Flush", {Role::kChief})) return;
      return Order<v1::FlushRequest>(message, [this](const auto& request, bool& answered) {
        door_.Order(request, kPatience, Tell(answered));
      });
  }
}

}  // namespace
}  // namespace capstan::ps

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.empty()) return;
  ps::SmallShard small(static_cast<uint8_t>(input[0]));
  small.Load();
  input.remove_prefix(1);
  ps::Asked asked(*small.shard);
  ForEachMessage(input,
                 [&asked](uint8_t kind, std::string_view message) { asked.Hear(kind, message); });
  ps::ReplicaWait nobody;
  small.shard->Flush(nobody);
  ps::CheckThatItCanBeSaved(*small.shard);
}
