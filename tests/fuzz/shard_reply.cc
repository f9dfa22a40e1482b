// What the chief, the coordinator and a backup reply to a shard: whatever arrives, it goes on, and
// what it holds afterwards can be saved. It answers pulls only while the chief has granted it a
// lease, answers each push once, and does so with OK only if its backup has said that it has it.
//
// First byte: the job's policies. The rest is a list of replies, and of pushes and pulls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "capstan/base/bounded_seconds.h"
#include "capstan/base/check.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/pull_query.h"
#include "ps/partition/replica_stream.h"
#include "ps/partition/replicate_message.h"
#include "ps/shard/chief_replies.h"
#include "ps/shard/coordinator_watch.h"
#include "ps/shard/places.h"
#include "ps/shard/shard.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/small_shard.h"

namespace capstan::ps {
namespace {

constexpr char kCheckpoints[] = "/checkpoints";  // As a flag of this shard says.
constexpr size_t kRequestBytes = 1024;           // Of a request to the backup, about.

class Replied {
 public:
  explicit Replied(uint8_t choice) : small_(choice, SmallShard::Standing::kOwnerWithBackup) {
    small_.Load();
    shard().backups().FollowPairs();
    CAPSTAN_CHECK(shard().streams().All().size() == 1);
    watch_.SetView(small_.view);
  }

  void Hear(uint8_t kind, std::string_view message) {
    switch (kind % 7) {
      case 0:
        return Push(message);
      case 1:
        return Pull(message);
      case 2:
        return HearBackup(message);
      case 3:
        return HearCoordinator(message);
      case 4:
        return HearRegistration(message);
      case 5:
        return HearHeartbeat(message);
      default:
        small_.clock.Advance(absl::Seconds(1));
    }
  }

  // The shard ends.
  void End() {
    ReplicaWait nobody;
    shard().Flush(nobody);
    CheckThatItCanBeSaved(shard());
    shard().streams().Close();
    CAPSTAN_CHECK(answers_ == pushes_);
  }

 private:
  Shard& shard() { return *small_.shard; }
  std::shared_ptr<ReplicaStream> stream() { return shard().streams().All()[0]; }

  void Push(std::string_view message) {
    const auto push = shard().ReadPush(WithHeader(shard(), message));
    if (!push.ok() || !shard().view().CheckHeader((*push)->head().header()).ok()) return;
    const uint64_t before = stream()->last();
    auto pushed = shard().Push(*push);
    if (!pushed.ok()) return;
    ++pushes_;
    const bool waits = !pushed->replicated.empty();
    std::move(pushed->replicated).Then([this, waits, before](const absl::Status& status) {
      ++answers_;
      CAPSTAN_CHECK(!status.ok() || !waits || told_taken_ > before);
    });
  }

  void Pull(std::string_view message) {
    auto query = PullQuery::Read(WithHeader(shard(), message), shard().catalog());
    if (!query.ok() || !shard().view().CheckHeader((*query)->head().header()).ok()) return;
    (void)shard().Pull(*std::move(query), absl::InfiniteFuture(),
                       [this](const absl::StatusOr<grpc::ByteBuffer>& reply, absl::Duration) {
                         CAPSTAN_CHECK(!reply.ok() || small_.clock.Now() < lease_until_);
                       });
  }

  void HearBackup(std::string_view message) {
    v1::ReplicateReply reply;
    if (!Parse(message, reply)) return;
    const auto sent =
        ReplicateMessage::Read(stream()->Next(SmallShard::kIdentity.incarnation, kRequestBytes));
    CAPSTAN_CHECK(sent.ok() && stream()->idle() == (*sent)->head().operations().empty());
    told_taken_ = std::max(told_taken_, reply.taken());
    (void)stream()->Taken(reply);
  }

  void HearCoordinator(std::string_view message) {
    v1::WatchCountsReply reply;
    if (Parse(message, reply)) (void)watch_.Hear(watch_.Request(), reply);
  }

  // The places that flags fix stay as they are.
  void HearRegistration(std::string_view message) {
    v1::RegisterShardReply reply;
    if (!Parse(message, reply)) return;
    (void)LearnFrom(reply, shard(), places_);
    CAPSTAN_CHECK(places_.CheckWrite(kCheckpoints).ok());
    CAPSTAN_CHECK(!places_.CheckWrite("/elsewhere").ok());
    const absl::Duration beat = HeartbeatOf(reply.job());
    CAPSTAN_CHECK(beat > absl::ZeroDuration() && beat < absl::Hours(1));
  }

  void HearHeartbeat(std::string_view message) {
    v1::ShardHeartbeatReply reply;
    if (!Parse(message, reply)) return;
    const absl::Time now = small_.clock.Now();
    TakeLease(reply, now, shard());
    lease_until_ =
        std::max(lease_until_,
                 now + BoundedSeconds(reply.lease_seconds(), absl::ZeroDuration(), absl::Hours(1)));
  }

  SmallShard small_;
  CoordinatorWatch watch_{*small_.shard};
  Places places_{{.checkpoints = kCheckpoints, .from = {}}};
  absl::Time lease_until_ = absl::InfinitePast();
  uint64_t told_taken_ = 0;  // The most that the backup has said that it has.
  uint64_t pushes_ = 0;
  uint64_t answers_ = 0;
};

}  // namespace
}  // namespace capstan::ps

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.empty()) return;
  ps::Replied replied(static_cast<uint8_t>(input[0]));
  input.remove_prefix(1);
  ForEachMessage(
      input, [&replied](uint8_t kind, std::string_view message) { replied.Hear(kind, message); });
  replied.End();
}
