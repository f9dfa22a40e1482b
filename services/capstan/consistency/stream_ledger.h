// Which pushes of which streams one part of one partition has settled. A push is named by what it
// is the gradient of, (stream, seq), so a retry, a reconnect and another worker redoing a dead
// worker's task all meet the same entry, and no gradient is applied twice.
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

// The name of a push. `low_watermark` is the lowest seq of the stream which the client has
// unacknowledged: everything below is settled as far as the client is concerned.
struct StreamPush {
  StreamId stream;
  uint64_t seq = 0;
  Generation generation;
  uint64_t low_watermark = 0;
};

enum class LedgerAnswer {
  kFresh,          // Not settled yet: decide its outcome, then Settle().
  kSettled,        // Had been settled, or the stream is closed.
  kOldGeneration,  // The lease has passed to another.
  kOutsideWindow,  // Too far above what is settled.
  kFull,           // More sessions than the ledger keeps.
};

// What a snapshot keeps of one open stream.
struct StreamEntry {
  StreamId stream;
  uint64_t prefix = 0;  // Every seq below is settled.
  uint64_t above = 0;   // Bit i: seq prefix + i is settled. Bit 0 is never set.
  Generation generation;
  uint64_t suspect_below = 0;  // What is passed over below it may have been settled and lost.
};

struct LedgerState {
  std::vector<StreamEntry> streams;  // Ascending by stream.
  std::vector<ClosedStreams::Interval> closed;
  uint64_t lost = 0;
  bool alone = false;    // The partition has recovered partially.
  uint64_t told_by = 0;  // The term of the chief that told it then what is open.
};

// What others know of the streams, for a partition that recovers partially from an older copy while
// they have gone on (recovery: partial).
struct StreamFacts {
  struct Open {
    StreamId stream;
    Generation generation;  // Lower ones are to be refused.
    uint64_t prefix = 0;    // Everything below has been settled.
  };
  struct Closed {
    StreamId stream;
    uint64_t batches = 0;
  };
  std::vector<Open> open;  // All that this chief knows of.
  std::vector<Closed> closed;
  // The term of the chief that tells. Earlier chiefs may have leased streams of which it does not
  // know: what is pushed by such a lease is refused, and whoever redoes the task pushes all of it
  // again.
  uint64_t term = 0;
};

// Thread-compatible.
class StreamLedger {
 public:
  static constexpr uint64_t kWindow = 64;  // Seqs a client may have unacknowledged.
  static constexpr size_t kMaxSessions = 4096;

  StreamLedger() = default;
  static StreamLedger FromState(const LedgerState& state, absl::Time now);
  // Makes the ledger of a partition that recovers partially. A gap that a low watermark or a close
  // reveals may then be a loss, and is counted: whatever the copy lacks of what is told, and later,
  // of streams that are open now, as far as their clients may have gone. All other gaps are batches
  // that have nothing for the partition.
  static StreamLedger RecoverPartially(const LedgerState& state, const StreamFacts& told,
                                       absl::Time now);
  LedgerState state() const;

  // Raises the stream's fence and prefix by what the push tells, and says whether it is fresh. Does
  // not settle it. `now` is kept for sessions only.
  LedgerAnswer Look(const StreamPush& push, absl::Time now);

  // Marks a push for which Look() has just answered kFresh. REQUIRES that.
  void Settle(const StreamPush& push);

  // Ends a stream of `batches` batches: from now on its pushes are kSettled. Idempotent. Sessions
  // are not closed but expire.
  void Close(StreamId stream, uint64_t batches);

  // Forgets sessions silent for `ttl`, and gives them. A client must not retry a push of a session
  // for half as long.
  std::vector<StreamId> ExpireSessions(absl::Time now, absl::Duration ttl);
  // Forgets one session, as another ledger has.
  void ForgetSession(StreamId session);

  uint64_t lost() const { return lost_; }  // Batches; see RecoverPartially.
  size_t open_streams() const { return streams_.size(); }

 private:
  struct Entry {
    uint64_t prefix = 0;
    uint64_t above = 0;
    Generation generation;
    absl::Time used = absl::InfinitePast();  // Sessions only.
    uint64_t suspect_below = 0;  // What is passed over below it may have been settled and lost.
  };
  static constexpr uint64_t kAll = ~uint64_t{0};  // Not heard of since the partition came back.
  void Hear(const StreamFacts& told);
  void RaisePrefix(Entry& entry, uint64_t to);

  bool alone_ = false;    // It has recovered partially, or its state is of one that had.
  uint64_t told_by_ = 0;  // The term of whoever told it then what is open.
  uint64_t lost_ = 0;
  size_t sessions_ = 0;
  absl::flat_hash_map<StreamId, Entry> streams_;
  ClosedStreams closed_;
};

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_STREAM_LEDGER_H_
