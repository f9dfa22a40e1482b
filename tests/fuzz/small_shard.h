// A small shard for fuzzers: two partitions, a table and a tensor, and a view by which it owns all,
// with or without a backup elsewhere, or backs all up.
#ifndef CAPSTAN_TESTS_FUZZ_SMALL_SHARD_H_
#define CAPSTAN_TESTS_FUZZ_SMALL_SHARD_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/message/any_message.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/door/shard_door.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// The shard and what it uses. It has loaded nothing yet.
struct SmallShard {
  static constexpr ShardIdentity kIdentity = {ShardIndex{0}, Incarnation{0xC0FFEE}};
  static constexpr Timeline kTimeline{1};
  static constexpr Incarnation kOther{0xBEEF};  // Of the process that the pairs are with.
  enum class Standing { kOwner, kOwnerWithBackup, kBackup };

  // The four lowest bits of `choice` are the update policies.
  explicit SmallShard(uint8_t choice, Standing standing = Standing::kOwner);

  // Loads initial values into every partition.
  void Load();

  metrics::Registry registry;
  ShardMetrics metrics{registry};
  FakeClock clock;
  v1::View view;
  std::unique_ptr<Shard> shard;
};

// A push or a pull with a header that the shard accepts behind whatever it brings itself: the last
// one counts.
grpc::ByteBuffer WithHeader(const Shard& shard, std::string_view request);

// Makes the header one that the shard accepts, also of an order, for this timeline.
void Accept(Shard& shard, uint64_t timeline, v1::RequestHeader& header);

// Pushes the request to the shard behind the door, with such a header. `may_train`: the certificate
// of who pushes is a worker's. Returns false if the request is refused before any partition sees
// it.
bool PushTo(const ShardDoor& door, const Shard& shard, std::string_view request, bool may_train);

// Has the door carry out an order of the chief that is answered at once, and returns the answer.
template <typename Reply>
absl::StatusOr<Reply> CarryOut(const ShardDoor& door, const AnyMessage& order) {
  absl::StatusOr<Reply> answer = absl::UnknownError("there is no answer");
  door.Order(order, absl::Hours(1), [&answer](const absl::StatusOr<AnyMessage>& reply) {
    answer = reply.ok() ? absl::StatusOr<Reply>(reply->Get<Reply>()) : reply.status();
  });
  return answer;
}

// Everything that the shard holds and knows of pushes, as it would be saved now.
std::string ContentOf(Shard& shard);

// Dies unless all that the shard holds can be saved and read back.
void CheckThatItCanBeSaved(Shard& shard);

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_FUZZ_SMALL_SHARD_H_
