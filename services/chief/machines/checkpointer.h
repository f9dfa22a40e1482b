// Takes one checkpoint after another: decides when one is due, and follows the present attempt. In
// an attempt every shard is ordered to save. Once each has answered, all partitions are marked, and
// rounds may continue. Once each has saved, the manifest is written. An attempt that fails is given
// up; another one follows when it is due.
#ifndef CAPSTAN_CHIEF_MACHINES_CHECKPOINTER_H_
#define CAPSTAN_CHIEF_MACHINES_CHECKPOINTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/ps.pb.h"
#include "chief/state/chief_actions.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

struct CheckpointerOptions {
  std::string folder;  // <uri>/<job>/checkpoints; empty: nothing is ever saved.
  uint64_t term = 1;
  uint64_t run_id = 0;                          // Random.
  absl::Duration every = absl::ZeroDuration();  // Zero: only when asked.
  absl::Duration call_deadline = absl::Seconds(10);
  // An attempt that makes no progress for this long is given up. With progress it may take any
  // time.
  absl::Duration patience = absl::Hours(1);
};

// Thread-compatible.
class Checkpointer {
 public:
  explicit Checkpointer(CheckpointerOptions options) : options_(std::move(options)) {}

  bool enabled() const { return !options_.folder.empty(); }
  std::string UriOf(const std::string& id) const { return options_.folder + "/" + id; }

  // Returns false for a while after an attempt has failed.
  bool MayBegin(absl::Time now) const { return now >= again_; }
  // Returns true if `every` has passed since StartClock or the beginning of the last attempt, and
  // no attempt is running.
  bool Due(absl::Time now) const;
  void StartClock(absl::Time now) { last_begun_ = now; }

  // What an attempt is to save. `manifest` is complete but for its id, parent and files.
  struct Order {
    v1::Manifest manifest;
    std::string parent;            // The base of deltas, where possible; empty: save all in full.
    std::vector<uint32_t> shards;  // All shards that own partitions.
    std::set<uint32_t> leaving;    // Those of them that freeze the partitions that they have saved.
  };
  // Begins an attempt: orders the shards to save. REQUIRES: not running().
  void Begin(Order order, absl::Time now, ShardCalls& calls);

  bool running() const { return attempt_.has_value(); }
  // Returns true while shards are still saving, before the manifest is written.
  bool saving() const { return running() && !attempt_->writing; }
  // Returns true once every shard has accepted the order. In a job with a synchronous part, updates
  // that are applied after that are not in this checkpoint.
  bool marked() const {
    return running() && attempt_->marked.size() == attempt_->order.shards.size();
  }
  bool leaves(uint32_t shard) const { return running() && attempt_->order.leaving.contains(shard); }
  const std::set<uint32_t>& leaving() const { return attempt_->order.leaving; }

  // Takes in a shard's answer to the order. If the shard is not done, asks it again later.
  void OnSaved(uint32_t shard, const v1::SavePartitionsReply& reply, absl::Time now,
               ShardCalls& calls);
  // Returns the manifest to be written, once, when every shard is done; otherwise nullopt.
  std::optional<WriteManifest> TakeManifest();
  // Returns true if the attempt under way waits for its manifest to be written to the folder `uri`.
  // False for a manifest of an attempt that was given up meanwhile.
  bool AwaitsManifestOf(const std::string& uri) const {
    return running() && attempt_->writing && uri == UriOf(attempt_->id);
  }
  // Ends the attempt. Returns its manifest, or nullopt if `written` is an error. REQUIRES:
  // AwaitsManifestOf its folder.
  std::optional<v1::Manifest> OnManifestWritten(const absl::Status& written, absl::Time now);

  // Gives the attempt up, if one is running. CANCELLED does not count as a failure of the attempt.
  void Abandon(const absl::Status& why, absl::Time now, ShardCalls& calls);
  // Returns true if for longer than `patience` no shard has accepted the order, saved another
  // partition or finished. Only the shard itself sees progress within a partition, and it gives up
  // by itself when there is none.
  bool Overdue(absl::Time now) const;

  // Returns the attempts that were given up, whose files must be deleted now; nullopt if there are
  // none. As a shard may go on writing for a while, the last such attempt is returned once more
  // after another attempt has ended.
  std::optional<DeleteCheckpoints> TakeGarbage();
  // Adds checkpoints that earlier chiefs had to delete.
  void AddGarbage(std::vector<std::string> ids);
  // Returns the shards of the attempt under way that have not said yet that they are done.
  std::vector<uint32_t> Unsaved() const;

  uint64_t taken() const { return taken_; }
  uint64_t failures() const { return failures_; }
  absl::Time failed_at() const { return failed_at_; }  // The last of failures().
  int failures_in_a_row() const { return failures_in_a_row_; }
  const absl::Status& last_failure() const { return last_failure_; }  // OK again after a success.
  absl::Duration last_took() const { return last_took_; }

 private:
  void CountFailure(const absl::Status& why, absl::Time now);
  void GiveUp(std::string id);

  struct Attempt {
    Order order;
    std::string id;
    absl::Time begun;
    std::set<uint32_t> marked;
    std::set<uint32_t> done;
    std::map<uint32_t, uint64_t> saved;  // How many partitions, by shard.
    absl::Time moved;                    // When the attempt last made progress.
    std::vector<v1::SavedFile> files;
    // The manifest is being written. emplace() value-initializes it to false.
    bool writing;
    absl::Duration pause;  // Before a shard is asked again.
  };

  std::string NextId(uint64_t step);
  void Ask(uint32_t shard, absl::Time due, ShardCalls& calls) const;
  v1::Manifest Complete() const;

  CheckpointerOptions options_;
  std::optional<Attempt> attempt_;
  absl::Time last_begun_ = absl::InfinitePast();
  uint64_t attempts_ = 0;
  uint64_t taken_ = 0;
  uint64_t failures_ = 0;
  absl::Time failed_at_ = absl::InfinitePast();
  absl::Status last_failure_;
  int failures_in_a_row_ = 0;
  absl::Time again_ = absl::InfinitePast();
  absl::Duration last_took_;
  DeleteCheckpoints garbage_;
  std::string last_given_up_;  // The id of the last attempt given up; shards may still write to it.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_CHECKPOINTER_H_
