// What workers, shards and the chief ask of a shard: whatever arrives, it answers, and what it
// holds afterwards can be saved and read back.
//
// First byte: the job's policies. The rest is a list of requests, which get a header that the shard
// accepts here.
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "capstan/wire/reader.h"
#include "ps/shard/load_job.h"
#include "ps/shard/pull_query.h"
#include "ps/shard/shard.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/small_shard.h"

namespace capstan::ps {
namespace {

void Pull(Shard& shard, std::string_view request) {
  auto query = PullQuery::Read(WithHeader(shard, request), shard.catalog());
  if (!query.ok() || !shard.CheckHeader((*query)->head().header()).ok()) return;
  bool answered = false;
  shard.Pull(*std::move(query), absl::InfiniteFuture(),
             [&answered](const absl::StatusOr<grpc::ByteBuffer>& reply, absl::Duration) {
               answered = true;
               if (!reply.ok()) return;
               const wire::Message message(*reply);
               v1::PullReply head;
               wire::Payload payload;
               CAPSTAN_CHECK(wire::Read(wire::kPullReply, message, head, payload).ok());
             });
  CAPSTAN_CHECK(answered);  // No part is ssp.
}

// Of the coordinator; some wait, and are forgotten.
template <typename Request, typename Ask>
void AskCoordinator(Shard& shard, std::string_view message, Ask ask) {
  Request request;
  if (!Parse(message, request)) return;
  request.mutable_header()->set_timeline(Raw(SmallShard::kTimeline));
  bool answered = false;
  const std::optional<WaiterId> waiter = ask(request, answered);
  CAPSTAN_CHECK(answered || (waiter.has_value() && shard.coordinator().Forget(*waiter)));
}

template <typename Request, typename Carry>
void Order(std::string_view message, Carry carry) {
  Request request;
  if (!Parse(message, request)) return;
  request.mutable_header()->set_timeline(Raw(SmallShard::kTimeline));
  carry(request);
}

// A piece of a push; the last one brings the push to the shard.
void TakePiece(Shard& shard, const v1::PushPieceRequest& piece) {
  const auto push = shard.pieces().Take({"peer:1", "peer"}, piece, absl::UnixEpoch());
  if (!push.ok() || !push->has_value()) return;
  CAPSTAN_CHECK((*push)->Length() == piece.size());
  std::vector<grpc::Slice> slices;
  CAPSTAN_CHECK((*push)->Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  PushTo(shard, bytes);
}

void Hear(Shard& shard, uint8_t kind, std::string_view message) {
  switch (kind % 9) {
    case 0:
      return PushTo(shard, message);
    case 1:
      return Pull(shard, message);
    case 2:
      return AskCoordinator<v1::OpenRoundRequest>(
          shard, message, [&shard](const auto& request, bool& answered) {
            return shard.coordinator().Open(request, [&answered](const auto&) { answered = true; });
          });
    case 3:
      return Order<v1::ReportLaneRequest>(message, [&shard](const auto& request) {
        ReplicaWait nobody;
        (void)shard.coordinator().Report(request, nobody);
      });
    case 4:
      return AskCoordinator<v1::HoldRoundsRequest>(
          shard, message, [&shard](const auto& request, bool& answered) {
            return shard.coordinator().Hold(request, absl::InfiniteFuture(),
                                            [&answered](const auto&) { answered = true; });
          });
    case 5:
      return AskCoordinator<v1::WatchCountsRequest>(
          shard, message, [&shard](const auto& request, bool& answered) {
            return shard.coordinator().Watch(request, absl::InfiniteFuture(),
                                             [&answered](const auto&) { answered = true; });
          });
    case 6:
      return Order<v1::CommitRoundRequest>(message, [&shard](const auto& request) {
        ReplicaWait nobody;
        (void)shard.CommitRound(request, nobody);
      });
    case 7:
      return Order<v1::CloseStreamsRequest>(message, [&shard](const auto& request) {
        ReplicaWait nobody;
        (void)shard.CloseStreams(request, nobody);
      });
    default:
      return Order<v1::PushPieceRequest>(message,
                                         [&](const auto& piece) { TakePiece(shard, piece); });
  }
}

// Initial values in every partition.
void Load(Shard& shard, const v1::View& view) {
  v1::LoadPartitionsRequest order;
  order.mutable_header()->set_timeline(view.timeline());
  for (int i = 0; i < view.owners_size(); ++i) order.add_partitions(static_cast<uint32_t>(i));
  Threads threads;
  CAPSTAN_CHECK(shard.BeginLoad(view.timeline()).ok() &&
                LoadJob(shard, order, {.background = threads}).Run().ok());
}

}  // namespace
}  // namespace capstan::ps

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.empty()) return;
  ps::SmallShard small(static_cast<uint8_t>(input[0]));
  ps::Load(*small.shard, small.view);
  input.remove_prefix(1);
  ForEachMessage(input, [&](uint8_t kind, std::string_view message) {
    ps::Hear(*small.shard, kind, message);
  });
  ps::ReplicaWait nobody;
  small.shard->Flush(nobody);
  ps::CheckThatItCanBeSaved(*small.shard);
}
