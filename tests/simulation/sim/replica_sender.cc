#include "tests/simulation/sim/replica_sender.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/sim/shard.h"
#include "tests/simulation/sim/shard_peer.h"

namespace capstan::sim {
namespace {

constexpr size_t kRequestBytes = 3000;  // Requests are smaller than those of a real process.
constexpr absl::Duration kReplicateDeadline = absl::Seconds(5);  // As ps/process/replica_sender.
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
  for (const auto& stream : turns_.Take(shard_.streams().All(), cast_.schedule().Now())) {
    Send(stream);
  }
}

void ReplicaSender::Send(const std::shared_ptr<ps::ReplicaStream>& stream) {
  const uint32_t index = ShardAt(stream->target().address);
  const grpc::ByteBuffer request = stream->Next(shard_.identity().incarnation, kRequestBytes);
  cast_.network().Call<v1::ReplicateReply>(
      life_, cast_.shard_host(index), kReplicateDeadline,
      [&cast = cast_, index, request](const Done<v1::ReplicateReply>& answer, absl::Time) {
        if (ShardProcess* process = cast.shard(index)) answer(process->Replicate(request));
      },
      [this, stream](const absl::StatusOr<v1::ReplicateReply>& reply) { Hear(*stream, reply); });
}

// The sender of a process looks every 20 ms; here a turn comes when there may be something to do.
void ReplicaSender::Hear(ps::ReplicaStream& stream,
                         const absl::StatusOr<v1::ReplicateReply>& reply) {
  const ps::ReplicaTurns::Heard heard =
      turns_.Hear(stream, reply, /*in_pieces=*/false, cast_.schedule().Now());
  if (heard.wait == absl::ZeroDuration()) return SendAll();
  SendSoon(heard.wait);
}

}  // namespace capstan::sim
