// Which pushes of which streams one part of one partition has settled. A push is identified by what
// it is the gradient of, (stream, seq). So a retry, a push after a reconnect, and one by a worker
// that repeats a dead worker's task all find the same entry, and no gradient is applied twice.
#ifndef CAPSTAN_CONSISTENCY_STREAM_LEDGER_H_
#define CAPSTAN_CONSISTENCY_STREAM_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/closed_streams.h"

namespace capstan {

// Identifies a push. `low_watermark` is the lowest seq of the stream that the client has
// unacknowledged: the client regards everything below as settled.
struct StreamPush {
  StreamId stream;
  uint64_t seq = 0;
  Generation generation;
  uint64_t low_watermark = 0;
};

enum class LedgerAnswer {
  kFresh,          // Not settled yet: decide its outcome, then Settle().
  kSettled,        // Settled before, or the stream is closed.
  kOldGeneration,  // The lease has been granted to another trainer.
  kOutsideWindow,  // Too far above what is settled.
  kFull,           // More sessions than the ledger keeps.
};

// The part of a snapshot for one open stream.
struct StreamEntry {
  StreamId stream;
  uint64_t prefix = 0;  // Every seq below is settled.
  uint64_t above = 0;   // Bit i: seq prefix + i is settled. Bit 0 is never set.
  Generation generation;
  uint64_t suspect_below = 0;  // Pushes below this seq that are skipped may be settled and lost.
};

struct LedgerState {
  std::vector<StreamEntry> streams;  // Ascending by stream.
  std::vector<ClosedStreams::Interval> closed;
  uint64_t lost = 0;
  bool alone = false;    // The partition has recovered partially.
  uint64_t told_by = 0;  // The term of the chief that then sent the open streams.
};

// What the chief knows of the streams, for a partition that recovers partially (recovery: partial):
// the partition has an older copy, while the streams have advanced.
struct StreamFacts {
  struct Open {
    StreamId stream;
    Generation generation;  // Lower ones must be refused.
    uint64_t prefix = 0;    // Everything below is settled.
  };
  struct Closed {
    StreamId stream;
    uint64_t batches = 0;
  };
  std::vector<Open> open;  // All open streams that this chief knows of.
  std::vector<Closed> closed;
  // The term of the chief that sends this. Earlier chiefs may have leased streams that it does not
  // know of: pushes under such a lease are refused, and the worker that repeats the task pushes all
  // of it again.
  uint64_t term = 0;
};

// Thread-compatible.
class StreamLedger {
 public:
  static constexpr uint64_t kWindow = 64;  // How many seqs a client may have unacknowledged.
  static constexpr size_t kMaxSessions = 4096;

  StreamLedger() = default;
  static StreamLedger FromState(const LedgerState& state, absl::Time now);
  // Creates the ledger of a partition that recovers partially, from `state`, an older copy, and the
  // chief's facts `told`. When a low watermark or a close skips pushes that this ledger lacks, they
  // may be lost, and lost() counts them: up to the prefix that the chief has sent, and in streams
  // that are open now, up to where their clients may have been. All other gaps are batches that
  // have nothing for the partition.
  static StreamLedger RecoverPartially(const LedgerState& state, const StreamFacts& told,
                                       absl::Time now);
  LedgerState state() const;

  // Raises the stream's generation and settled prefix according to `push`, and returns whether the
  // push is fresh. Does not settle it. `now` is recorded for sessions only.
  LedgerAnswer Look(const StreamPush& push, absl::Time now);

  // Marks the push as settled. REQUIRES: Look() has just answered kFresh for it.
  void Settle(const StreamPush& push);

  // Closes a stream of `batches` batches: from now on its pushes are kSettled. Idempotent. Sessions
  // are not closed; they expire.
  void Close(StreamId stream, uint64_t batches);

  // Forgets the sessions that were silent for longer than `ttl`, and returns them. A client must
  // stop retrying a push of a session before half of `ttl` has passed.
  std::vector<StreamId> ExpireSessions(absl::Time now, absl::Duration ttl);
  // Forgets one session that another ledger has forgotten.
  void ForgetSession(StreamId session);

  uint64_t lost() const { return lost_; }  // How many batches were lost; see RecoverPartially.

 private:
  struct Entry {
    uint64_t prefix = 0;
    uint64_t above = 0;
    Generation generation;
    absl::Time used = absl::InfinitePast();  // Sessions only.
    uint64_t suspect_below = 0;  // Pushes below this seq that are skipped may be settled and lost.
  };
  // The value of suspect_below for a stream that was not heard of since the partition came back.
  static constexpr uint64_t kAll = ~uint64_t{0};
  void Hear(const StreamFacts& told);
  void RaisePrefix(Entry& entry, uint64_t to);

  bool alone_ = false;  // The partition has recovered partially, or its state is from one that had.
  uint64_t told_by_ = 0;  // The term of the chief that then sent the open streams.
  uint64_t lost_ = 0;
  size_t sessions_ = 0;
  absl::flat_hash_map<StreamId, Entry> streams_;
  ClosedStreams closed_;
};

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_STREAM_LEDGER_H_
