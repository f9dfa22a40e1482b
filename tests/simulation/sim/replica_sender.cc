#include "tests/simulation/sim/replica_sender.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/sim/shard.h"
#include "tests/simulation/sim/shard_peer.h"

namespace capstan::sim {
namespace {

// As ps/process/replica_sender has them, but for the requests, which are small here.
constexpr size_t kRequestBytes = 3000;
constexpr absl::Duration kReplicateDeadline = absl::Seconds(5);
constexpr absl::Duration kFirstWait = absl::Milliseconds(2);
constexpr absl::Duration kLongestWait = absl::Milliseconds(100);
constexpr absl::Duration kMostLeisure = absl::Seconds(1);

}  // namespace

ReplicaSender::ReplicaSender(Cast& cast, const Life& life, ps::Shard& shard)
    : cast_(cast), life_(life), shard_(shard) {
  shard_.streams().SetWake([this] {
    if (!std::exchange(awake_, true)) SendSoon(Leisure());
  });
}

ReplicaSender::~ReplicaSender() { shard_.streams().SetWake(nullptr); }

// Who waits for nobody's answer has time.
absl::Duration ReplicaSender::Leisure() const {
  if (cast_.lie() != Lie::kAlone) return absl::ZeroDuration();
  return cast_.schedule().Between(absl::ZeroDuration(), kMostLeisure);
}

void ReplicaSender::SendSoon(absl::Duration wait) {
  cast_.network().After(life_, wait, [this] {
    awake_ = false;
    SendAll();
  });
}

void ReplicaSender::SendAll() {
  const std::vector<std::shared_ptr<ps::ReplicaStream>> streams = shard_.streams().All();
  std::erase_if(peers_, [&streams](const auto& peer) {
    return std::find(streams.begin(), streams.end(), peer.second->stream) == streams.end();
  });
  const absl::Time now = cast_.schedule().Now();
  for (const std::shared_ptr<ps::ReplicaStream>& stream : streams) {
    if (stream->target().address.empty()) continue;
    std::shared_ptr<Peer>& peer = peers_[stream->name().number];
    if (peer == nullptr) peer = std::make_shared<Peer>(Peer{stream});
    if (!peer->calling && now >= peer->next && !stream->idle()) Send(peer);
  }
}

void ReplicaSender::Send(const std::shared_ptr<Peer>& peer) {
  peer->calling = true;
  const uint32_t index = ShardAt(peer->stream->target().address);
  const grpc::ByteBuffer request = peer->stream->Next(shard_.identity().incarnation, kRequestBytes);
  cast_.network().Call<v1::ReplicateReply>(
      life_, cast_.shard_host(index), kReplicateDeadline,
      [&cast = cast_, index, request](const Done<v1::ReplicateReply>& answer, absl::Time) {
        if (ShardProcess* process = cast.shard(index)) answer(process->Replicate(request));
      },
      [this, peer](const absl::StatusOr<v1::ReplicateReply>& reply) {
        peer->calling = false;
        Hear(*peer, reply);
      });
}

void ReplicaSender::Hear(Peer& peer, const absl::StatusOr<v1::ReplicateReply>& reply) {
  if (reply.ok() && peer.stream->Taken(*reply)) {
    peer.pause = absl::ZeroDuration();
    return SendAll();
  }
  peer.pause = std::clamp(2 * peer.pause, kFirstWait, kLongestWait);
  peer.next = cast_.schedule().Now() + peer.pause;
  SendSoon(peer.pause);
}

}  // namespace capstan::sim
