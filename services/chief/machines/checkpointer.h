// One checkpoint after another: when one is due, and how far the present attempt is. An attempt:
// every shard is ordered to save; once each has answered, all of it is marked and rounds may go on;
// once each has saved, the manifest is written. An attempt that fails is given up, and the next
// interval brings another.
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
  // An attempt of which nothing has moved for longer is given up; however long one takes that does.
  absl::Duration patience = absl::Hours(1);
};

// Thread-compatible.
class Checkpointer {
 public:
  explicit Checkpointer(CheckpointerOptions options) : options_(std::move(options)) {}

  bool enabled() const { return !options_.folder.empty(); }
  std::string UriOf(const std::string& id) const { return options_.folder + "/" + id; }

  // Not too soon after an attempt that has failed.
  bool MayBegin(absl::Time now) const { return now >= again_; }
  // The interval is over, counted from where StartClock says or the start of the last attempt.
  bool Due(absl::Time now) const;
  void StartClock(absl::Time now) { last_begun_ = now; }

  // What an attempt is of. `manifest` says everything but the id and the files.
  struct Order {
    v1::Manifest manifest;
    std::string parent;            // A delta of this one, where the shards can; empty: full.
    std::vector<uint32_t> shards;  // All that hold partitions.
    std::set<uint32_t> leaving;    // Those of them that freeze what they have saved.
  };
  // REQUIRES: not running().
  void Begin(Order order, absl::Time now, ShardCalls& calls);

  bool running() const { return attempt_.has_value(); }
  // Shards are at work; afterwards it is only the manifest that is awaited.
  bool saving() const { return running() && !attempt_->writing; }
  // Whatever is applied from now on is not in this checkpoint, where a part is synchronous.
  bool marked() const {
    return running() && attempt_->marked.size() == attempt_->order.shards.size();
  }
  bool leaves(uint32_t shard) const { return running() && attempt_->order.leaving.contains(shard); }
  const std::set<uint32_t>& leaving() const { return attempt_->order.leaving; }

  // A shard's answer. Asks again later while it is not done.
  void OnSaved(uint32_t shard, const v1::SavePartitionsReply& reply, absl::Time now,
               ShardCalls& calls);
  // When every shard is done, once.
  std::optional<WriteManifest> TakeManifest();
  // The manifest of this folder is being written, and is that of the attempt under way, not of one
  // that was given up meanwhile.
  bool AwaitsManifestOf(const std::string& uri) const {
    return running() && attempt_->writing && uri == UriOf(attempt_->id);
  }
  // The end of the attempt; its manifest, if it was written. REQUIRES: it is awaited.
  std::optional<v1::Manifest> OnManifestWritten(const absl::Status& written, absl::Time now);

  // Gives the attempt up.
  void Abandon(const absl::Status& why, absl::Time now, ShardCalls& calls);
  // No shard has saved another partition, or all that it holds, for longer than the patience. What
  // moves within a partition only the shard sees; it gives up by itself when that does not.
  bool Overdue(absl::Time now) const;

  // Attempts that were given up, whose files nobody needs: to be deleted now. A shard may write on
  // for a while, so the last of this chief's is told once more when another attempt has ended.
  std::optional<DeleteCheckpoints> TakeGarbage();
  // Takes over checkpoints that earlier chiefs were to delete.
  void AddGarbage(std::vector<std::string> ids);
  // Shards that have not said yet that they are done; empty: no attempt is under way.
  std::vector<uint32_t> Unsaved() const;

  uint64_t taken() const { return taken_; }
  uint64_t failures() const { return failures_; }
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
    std::map<uint32_t, uint64_t> saved;  // Partitions, by shard.
    absl::Time moved;                    // When one of these last grew.
    std::vector<v1::SavedFile> files;
    bool writing;          // The manifest. All of it begins as zero.
    absl::Duration pause;  // Between two questions.
  };

  std::string NextId(uint64_t step);
  v1::SavePartitionsRequest RequestTo(uint32_t shard) const;
  v1::Manifest Complete() const;

  CheckpointerOptions options_;
  std::optional<Attempt> attempt_;
  absl::Time last_begun_ = absl::InfinitePast();
  uint64_t attempts_ = 0;
  uint64_t taken_ = 0;
  uint64_t failures_ = 0;
  absl::Status last_failure_;
  int failures_in_a_row_ = 0;
  absl::Time again_ = absl::InfinitePast();
  absl::Duration last_took_;
  DeleteCheckpoints garbage_;
  std::string last_given_up_;  // Perhaps still written to by a shard.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_CHECKPOINTER_H_
