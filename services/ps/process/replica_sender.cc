#include "ps/process/replica_sender.h"

#include <vector>

#include "capstan/base/log.h"
#include "capstan/rpc/limits.h"
#include "ps/transfer/replica_failure.h"

namespace capstan::ps {
namespace {

constexpr char kReplicate[] = "/capstan.v1.Ps/Replicate";
constexpr char kReplicatePiece[] = "/capstan.v1.Ps/ReplicatePiece";
constexpr size_t kRequestBytes = 4 << 20;
constexpr absl::Duration kReplicateDeadline = absl::Seconds(5);
constexpr absl::Duration kSenderTurn = absl::Milliseconds(20);

}  // namespace

ReplicaSender::ReplicaSender(Shard& shard, const Tls* tls) : shard_(shard), tls_(tls) {
  shard_.streams().SetWake([this] {
    if (!awake_.exchange(true)) loop_.Post([this] { awake_ = false; });
  });
  thread_ = std::thread([this] { Run(); });
}

ReplicaSender::~ReplicaSender() {
  shard_.streams().SetWake(nullptr);
  stopping_ = true;
  thread_.join();
}

void ReplicaSender::Run() {
  while (!stopping_) {
    SendAll();
    loop_.Poll(kSenderTurn);
  }
}

void ReplicaSender::SendAll() {
  const std::vector<std::shared_ptr<ReplicaStream>> due =
      turns_.Take(shard_.streams().All(), shard_.clock().Now());
  std::erase_if(channels_, [this](const auto& channel) { return !turns_.Knows(channel.first); });
  for (const std::shared_ptr<ReplicaStream>& stream : due) Send(stream);
}

void ReplicaSender::Send(const std::shared_ptr<ReplicaStream>& stream) {
  Channel& channel = channels_[stream->name().number];
  if (channel == nullptr) channel = NewChannel(stream->target().address, Role::kPs, tls_);
  const grpc::ByteBuffer request = stream->Next(shard_.identity().incarnation, kRequestBytes);
  if (request.Length() > size_t{kMaxMessageBytes}) {
    return SendPiece(stream, channel, std::make_shared<PushInPieces>(++last_in_pieces_, request));
  }
  loop_.Call<v1::ReplicateReply>(channel, kReplicate, request, kReplicateDeadline,
                                 [this, stream](const absl::StatusOr<v1::ReplicateReply>& reply) {
                                   Hear(*stream, reply, /*in_pieces=*/false);
                                 });
}

void ReplicaSender::SendPiece(const std::shared_ptr<ReplicaStream>& stream, const Channel& channel,
                              const std::shared_ptr<PushInPieces>& pieces) {
  // One request to a backup is under way at a time, so all before this one are over. Whatever is
  // larger than a message is one push alone (ReplicaStream::Next).
  loop_.Call<v1::ReplicateReply>(
      channel, kReplicatePiece, pieces->Next(stream->Header(), /*oldest=*/pieces->push()),
      kReplicateDeadline,
      [this, stream, channel, pieces](const absl::StatusOr<v1::ReplicateReply>& reply) {
        if (reply.ok() && !pieces->done()) return SendPiece(stream, channel, pieces);
        Hear(*stream, reply, /*in_pieces=*/true);
      });
}

void ReplicaSender::Hear(ReplicaStream& stream, const absl::StatusOr<v1::ReplicateReply>& reply,
                         bool in_pieces) {
  if (!turns_.Hear(stream, reply, in_pieces, shard_.clock().Now()).tells) return;
  log::Info(ReplicaFailure(reply.status(), in_pieces),
            {{"backup", stream.target().address}, {"error", reply.status()}});
}

}  // namespace capstan::ps
