#include "ps/process/replica_sender.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "capstan/base/log.h"

namespace capstan::ps {
namespace {

constexpr char kReplicate[] = "/capstan.v1.Ps/Replicate";
constexpr size_t kRequestBytes = 4 << 20;
constexpr absl::Duration kReplicateDeadline = absl::Seconds(5);
constexpr absl::Duration kFirstWait = absl::Milliseconds(2);
constexpr absl::Duration kLongestWait = absl::Milliseconds(100);
constexpr absl::Duration kSenderTurn = absl::Milliseconds(20);

}  // namespace

ReplicaSender::ReplicaSender(Shard& shard) : shard_(shard) {
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
  const std::vector<std::shared_ptr<ReplicaStream>> streams = shard_.streams().All();
  std::erase_if(peers_, [&streams](const auto& peer) {
    return std::find(streams.begin(), streams.end(), peer.second->stream) == streams.end();
  });
  const absl::Time now = shard_.clock().Now();
  for (const std::shared_ptr<ReplicaStream>& stream : streams) {
    if (stream->target().address.empty()) continue;  // The view does not name the backup's process.
    std::shared_ptr<Peer>& peer = peers_[stream->name().number];
    if (peer == nullptr) {
      peer = std::make_shared<Peer>(stream, NewChannel(stream->target().address, Role::kPs));
    }
    if (!peer->calling && now >= peer->next && !stream->idle()) Send(peer);
  }
}

void ReplicaSender::Send(const std::shared_ptr<Peer>& peer) {
  peer->calling = true;
  loop_.Call<v1::ReplicateReply>(
      peer->channel, kReplicate, peer->stream->Next(shard_.identity().incarnation, kRequestBytes),
      kReplicateDeadline, [this, peer](const absl::StatusOr<v1::ReplicateReply>& reply) {
        peer->calling = false;
        Hear(*peer, reply);
      });
}

void ReplicaSender::Hear(Peer& peer, const absl::StatusOr<v1::ReplicateReply>& reply) {
  // A reply may bring nothing on: the backup may not have followed the view that made the pair yet.
  if (reply.ok() && peer.stream->Taken(*reply)) {
    peer.pause = absl::ZeroDuration();
    return;
  }
  if (!reply.ok() && peer.pause == absl::ZeroDuration()) {
    log::Info("a backup does not answer",
              {{"backup", peer.stream->target().address}, {"error", reply.status()}});
  }
  peer.pause = std::clamp(2 * peer.pause, kFirstWait, kLongestWait);
  peer.next = shard_.clock().Now() + peer.pause;
}

}  // namespace capstan::ps
