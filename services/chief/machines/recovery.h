// A return to a checkpoint: finds out which one can be used, and which shards have loaded their
// share of it. The start of a job is also a recovery: it returns to the initial values.
//
//   kIdle -> kReading: the manifest is read; if it is damaged, the previous checkpoint is tried
//         -> kLoading: in a new timeline, every shard loads; if one finds damage, the recovery
//            returns to kReading with the previous checkpoint
//         -> kIdle
#ifndef CAPSTAN_CHIEF_MACHINES_RECOVERY_H_
#define CAPSTAN_CHIEF_MACHINES_RECOVERY_H_

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

namespace capstan::chief {

// Where a recovery looks for parameters.
struct RecoverySource {
  std::string uri;               // Folder of the checkpoint; empty: the initial values.
  std::string id;                // Its id, if it is a checkpoint of this job.
  bool parameters_only = false;  // It is a checkpoint of another job.
};

// Thread-compatible.
class Recovery {
 public:
  enum class Phase { kIdle, kReading, kLoading };

  // Begins a recovery, and abandons the one under way, if any. `sources` are tried from the last,
  // which is the best, to the first. REQUIRES: there is at least one.
  void Begin(std::vector<RecoverySource> sources, absl::Time now);

  Phase phase() const { return phase_; }
  absl::Time begun() const { return begun_; }
  const RecoverySource& source() const { return sources_.back(); }

  // ---- kReading ----

  // Returns the folder whose manifest has to be read now, and remembers that the read was begun;
  // nullopt if none has to be read.
  std::optional<std::string> TakeRead(absl::Time now);
  // Returns true if a read of the manifest in the folder `uri` is under way and its result is still
  // needed. False if that checkpoint has been skipped since.
  bool AwaitsManifestOf(const std::string& uri) const {
    return phase_ == Phase::kReading && asked_ && uri == source().uri;
  }
  // Takes in the result of reading the manifest of source(). If it is damaged or missing, the
  // source before is tried; DATA_LOSS if there is none. If the store is unavailable, it is read
  // again later. REQUIRES: AwaitsManifestOf(source().uri).
  absl::Status OnManifestRead(absl::StatusOr<v1::Manifest> manifest, absl::Time now);
  // Returns true if `status` says that a checkpoint is damaged or missing, rather than that the
  // store is unavailable.
  static bool IsDamage(const absl::Status& status);
  // Returns true if the manifest has been read, or none is needed.
  bool found() const { return phase_ == Phase::kReading && found_; }
  const v1::Manifest& manifest() const { return manifest_; }  // Empty for the initial values.

  // ---- kLoading ----

  // Begins to wait until each of `shards` has loaded. REQUIRES: found().
  void BeginLoading(std::set<uint32_t> shards);
  v1::LoadPartitionsRequest RequestTo(const std::vector<uint32_t>& partitions,
                                      bool coordinator) const;
  bool Awaits(uint32_t shard) const {
    return phase_ == Phase::kLoading && loading_.contains(shard);
  }
  void OnLoaded(uint32_t shard, const v1::LoadPartitionsReply& reply);
  // The process of the shard was replaced: the new one has to load, too.
  void OnReplaced(uint32_t shard);
  // A shard cannot load the checkpoint: tries the source before. DATA_LOSS if there is none.
  absl::Status OnDamaged(const absl::Status& why, absl::Time now);
  bool loaded() const { return phase_ == Phase::kLoading && loading_.empty(); }
  uint64_t rows() const { return rows_; }

  void End() { phase_ = Phase::kIdle; }

  // Returns why the last source was skipped, or cannot be read yet.
  const absl::Status& last() const { return last_; }

 private:
  absl::Status TryTheOneBefore(const absl::Status& why, absl::Time now);

  Phase phase_ = Phase::kIdle;
  absl::Time begun_;
  std::vector<RecoverySource> sources_ = {{}};
  bool asked_ = false;
  bool found_ = false;
  absl::Time again_ = absl::InfinitePast();
  v1::Manifest manifest_;
  std::set<uint32_t> loading_;
  uint64_t rows_ = 0;
  absl::Status last_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_RECOVERY_H_
