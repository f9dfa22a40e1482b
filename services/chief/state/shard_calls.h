// The chief's calls to shards. Each call is repeated until the shard has answered it, so a shard
// may get it more than once. Only a kSave, kLoad, kJoin or kMove ends when the shard refuses it:
// the error is its answer, and the duty that has asked decides what follows.
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
  // Asks for a call to `shard`, to be sent at `due` or later. It replaces a call of the same
  // purpose to the same shard that has not been answered.
  void Send(Purpose purpose, uint32_t shard, ShardRequest request, absl::Duration deadline,
            absl::Time due = absl::InfinitePast());

  // Returns the attempts that are due, and notes them as under way. Each goes to the address that
  // `view` has for the shard, or `shards` for a kJoin, and carries the epoch and timeline of
  // `view`. A call under way to a process that has been replaced is sent to the new process at
  // once.
  std::vector<CallShard> TakeDue(const v1::View& view, const ShardTable& shards, absl::Time now);
  // Returns when the next call of this purpose that is not under way is due; InfiniteFuture: there
  // is none.
  absl::Time NextDue(Purpose purpose) const;

  struct Answer {
    Purpose purpose;
    uint32_t shard = 0;
    uint64_t incarnation = 0;          // The incarnation of the process that has answered.
    absl::StatusOr<ShardReply> reply;  // An error only for kSave, kLoad, kJoin, kMove.
  };
  // Ends the attempt `call` and returns the answer. Nothing if the attempt has failed and will be
  // repeated, or if its call was replaced or cancelled.
  std::optional<Answer> OnReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);

  bool Pending(Purpose purpose) const;
  bool Pending(Purpose purpose, uint32_t shard) const;
  void CancelAll() { calls_.clear(); }
  void Cancel(Purpose purpose);
  void Cancel(Purpose purpose, uint32_t shard) { calls_.erase({purpose, shard}); }

  // Returns why a shard keeps refusing a call; OK if none does. That a shard is away is no refusal:
  // the chief waits for it.
  [[nodiscard]] absl::Status Refusal() const;

 private:
  struct Call {
    ShardRequest request;
    absl::Duration deadline;
    uint64_t attempt = 0;      // The attempt under way; 0: none.
    uint64_t incarnation = 0;  // The process that the last attempt went to.
    absl::Time due = absl::InfinitePast();
    int failures = 0;
    int refusals = 0;
    absl::Status last;
  };

  std::map<std::pair<Purpose, uint32_t>, Call> calls_;
  uint64_t attempts_ = 0;
};

// Returns the name of the RPC: "HoldRounds", "CommitRound" ...
std::string NameOf(Purpose purpose);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_SHARD_CALLS_H_
