// A shard's calls to the chief: registration, the watch of the view, heartbeats.
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
#include "capstan/security/tls.h"
#include "capstan/v1/chief.pb.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

struct ChiefLinkOptions {
  std::string chief;         // host:port
  std::string address;       // host:port at which others reach this shard.
  const Tls* tls = nullptr;  // The identity shown to the chief; null: plaintext.
  ShardIdentity identity;
  // The secret from which the incarnation was computed (capstan/security/shard_secret.h); empty if
  // there is none.
  std::string secret;
  uint64_t memory_bytes = 0;  // Memory that this process may use.
  std::string zone;           // The zone that its machine is in.
  absl::Duration give_up_after = absl::Minutes(5);
};

// *Confined to the thread of its event loop.*
class ChiefLink {
 public:
  // `loop` must outlive the link.
  ChiefLink(EventLoop& loop, const ChiefLinkOptions& options);

  // Registers the shard; retries until the chief answers, and logs a line every few seconds.
  // DEADLINE_EXCEEDED: the chief has not answered within give_up_after; CANCELLED: the process was
  // asked to stop; other errors: the chief refuses this shard.
  absl::StatusOr<v1::RegisterShardReply> Register(const Shutdown& shutdown);

  // From now on Poll() passes views to the shard, and sends reports to the chief. The shard
  // registers again with a chief that does not know it, with a later chief, or after a wrong seal;
  // the link calls `learn` with each reply, which may differ from the one before. It calls `see`
  // with each view, after the shard has it. An error of `learn` or `see` ends the shard. `shard`
  // must outlive the link. REQUIRES: Register() has returned a reply.
  using Learn = absl::AnyInvocable<absl::Status(const v1::RegisterShardReply&)>;
  using See = absl::AnyInvocable<absl::Status(const v1::View&)>;
  void Follow(Shard& shard, Learn learn, See see);
  // Runs the event loop for at most `at_most`, and does what is due. Returns an error if the shard
  // cannot continue.
  absl::Status Poll(absl::Duration at_most);
  // From now on reports to the chief that this shard is about to leave.
  void Drain();
  // Returns true if the chief does not need this shard any more, the job has ended, nothing is
  // served here, or there is no chief to ask. REQUIRES: Drain() has been called.
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
  uint64_t term_ = 0;         // The term of the chief that is followed; 0: none is known yet.
  absl::Duration heartbeat_;  // As of the reply to the last registration.
  bool watching_ = false;
  bool beating_ = false;      // A heartbeat is under way.
  bool registering_ = false;  // A registration is under way.
  bool registered_ = true;    // The present chief's reply to a registration has been applied.
  bool draining_ = false;
  bool may_leave_ = false;
  bool job_over_ = false;
  absl::Time heard_ = absl::InfinitePast();  // When the chief last answered a heartbeat.
  absl::Time next_watch_ = absl::InfinitePast();
  absl::Time next_heartbeat_ = absl::InfinitePast();
  absl::Status failure_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_CHIEF_LINK_H_
