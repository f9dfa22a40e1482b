// The chief's calls to shards: each is repeated until it has been answered. All of them may arrive
// more than once.
#ifndef CAPSTAN_CHIEF_SHARD_CALLS_H_
#define CAPSTAN_CHIEF_SHARD_CALLS_H_

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
#include "chief/chief_actions.h"

namespace capstan::chief {

enum class Purpose { kHold, kCommit, kRelease, kFlush, kClose, kSave };

// Thread-compatible.
class ShardCalls {
 public:
  // Asks for a call of this purpose to a shard; it replaces one that has not been answered.
  void Send(Purpose purpose, uint32_t shard, ShardRequest request, absl::Duration deadline);

  // Attempts that are due, addressed by `view`, whose epoch and timeline they carry.
  std::vector<CallShard> TakeDue(const v1::View& view, absl::Time now);

  struct Answer {
    Purpose purpose;
    uint32_t shard = 0;
    ShardReply reply;
  };
  // The end of an attempt. Nothing: it failed and will be repeated, or had been replaced.
  std::optional<Answer> OnReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);

  bool Pending(Purpose purpose) const;
  bool Pending(Purpose purpose, uint32_t shard) const;
  void CancelAll() { calls_.clear(); }

  // OK, or why a shard keeps refusing: not for its being away, for that is waited out.
  [[nodiscard]] absl::Status Refusal() const;

 private:
  struct Call {
    ShardRequest request;
    absl::Duration deadline;
    uint64_t attempt = 0;  // Under way; 0: none.
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

#endif  // CAPSTAN_CHIEF_SHARD_CALLS_H_
