// A shard's side of its talk with the chief: registration, the watch of the view, heartbeats.
#ifndef CAPSTAN_PS_PROCESS_CHIEF_LINK_H_
#define CAPSTAN_PS_PROCESS_CHIEF_LINK_H_

#include <cstdint>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/shutdown.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/chief.pb.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

struct ChiefLinkOptions {
  std::string chief;    // host:port
  std::string address;  // Where others reach this shard.
  ShardIdentity identity;
  uint64_t memory_bytes = 0;  // That this process may use.
  std::string zone;           // The zone that its machine is in.
  absl::Duration give_up_after = absl::Minutes(5);
};

// *Confined to the thread of its event loop.*
class ChiefLink {
 public:
  // `loop` must outlive the link.
  ChiefLink(EventLoop& loop, const ChiefLinkOptions& options);

  // Tries until the chief answers, with a line every few seconds. DEADLINE_EXCEEDED: it has not
  // within give_up_after; CANCELLED: asked to stop; others: the chief refuses us.
  absl::StatusOr<v1::RegisterShardReply> Register(const Shutdown& shutdown);

  // From now on views go to the shard, and reports to the chief: in Poll. The shard registers again
  // with a chief that does not know it, or that has come after the one it knows, which may say
  // other things: `learn` is told. So is `see` of every view. An error of theirs ends the shard.
  // `shard` must outlive the link. REQUIRES: Register() has returned an answer.
  using Learn = absl::AnyInvocable<absl::Status(const v1::RegisterShardReply&)>;
  using See = absl::AnyInvocable<absl::Status(const v1::View&)>;
  void Follow(Shard& shard, Learn learn, See see);
  // Polls the loop for at most `at_most` and does what is due. An error: the shard cannot go on.
  absl::Status Poll(absl::Duration at_most);
  // From now on the chief is told that this shard is about to leave.
  void Drain();
  // REQUIRES: it drains. The chief needs it no longer, the job is over, or there is no chief to
  // ask.
  bool MayLeave() const;

 private:
  void Watch();
  void Heartbeat();
  void RegisterAgain();
  void SetHeartbeat(const v1::JobSpec& job);

  EventLoop& loop_;
  const ChiefLinkOptions options_;
  const Channel channel_;
  Shard* shard_ = nullptr;
  Learn learn_;
  See see_;
  uint64_t term_ = 0;  // The term of the chief that is followed; 0: none has been heard of yet.
  absl::Duration heartbeat_;  // As the chief said at the last registration.
  bool watching_ = false;
  bool beating_ = false;      // A heartbeat is under way.
  bool registering_ = false;  // A registration is under way.
  bool registered_ = true;    // What the present chief answers to one has been learned.
  bool draining_ = false;
  bool may_leave_ = false;
  bool job_over_ = false;
  absl::Time heard_ = absl::InfinitePast();  // The chief's last answer to a heartbeat.
  absl::Time next_watch_ = absl::InfinitePast();
  absl::Time next_heartbeat_ = absl::InfinitePast();
  absl::Status failure_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_CHIEF_LINK_H_
