// The chief's calls to shards: each is repeated until it has been answered. All of them may arrive
// more than once. A save, a load or a move that is refused ends with that; it is for others to say
// what then.
#ifndef CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_
#define CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/view.pb.h"
#include "chief/state/chief_actions.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

enum class Purpose {
  kHold,
  kCommit,
  kRelease,
  kFlush,
  kClose,
  kSave,
  kLoad,
  kJoin,  // A load of nothing: the shard is told the timeline before the view names it.
  kMove,
};

// Thread-compatible.
class ShardCalls {
 public:
  // Asks for a call of this purpose to a shard, not before `due`; it replaces one that has not been
  // answered.
  void Send(Purpose purpose, uint32_t shard, ShardRequest request, absl::Duration deadline,
            absl::Time due = absl::InfinitePast());

  // Attempts that are due, addressed by `view`, whose epoch and timeline they carry; a kJoin is
  // addressed by `shards`. What is under way to a process in whose place another has come is sent
  // to that one at once.
  std::vector<CallShard> TakeDue(const v1::View& view, const ShardTable& shards, absl::Time now);
  // When the next one of this purpose is due that is not under way.
  absl::Time NextDue(Purpose purpose) const;

  struct Answer {
    Purpose purpose;
    uint32_t shard = 0;
    uint64_t incarnation = 0;          // The incarnation of the process that has answered.
    absl::StatusOr<ShardReply> reply;  // An error only of a save, a load or a move.
  };
  // The end of an attempt. Nothing: it failed and will be repeated, or had been replaced.
  std::optional<Answer> OnReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);

  bool Pending(Purpose purpose) const;
  bool Pending(Purpose purpose, uint32_t shard) const;
  void CancelAll() { calls_.clear(); }
  void Cancel(Purpose purpose);
  void Cancel(Purpose purpose, uint32_t shard) { calls_.erase({purpose, shard}); }

  // OK, or why a shard keeps refusing: not for its being away, for that is waited out.
  [[nodiscard]] absl::Status Refusal() const;

 private:
  struct Call {
    ShardRequest request;
    absl::Duration deadline;
    uint64_t attempt = 0;      // Under way; 0: none.
    uint64_t incarnation = 0;  // That it was sent to.
    absl::Time due = absl::InfinitePast();
    int failures = 0;
    int refusals = 0;
    absl::Status last;
  };

  std::map<std::pair<Purpose, uint32_t>, Call> calls_;
  uint64_t attempts_ = 0;
};

// HoldRounds, CommitRound ...
std::string NameOf(Purpose purpose);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_
