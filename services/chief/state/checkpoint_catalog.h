// The checkpoints that the job can return to, and which of them are kept.
#ifndef CAPSTAN_CHIEF_STATE_CHECKPOINT_CATALOG_H_
#define CAPSTAN_CHIEF_STATE_CHECKPOINT_CATALOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/checkpoint.pb.h"

namespace capstan::chief {

// What the chief remembers of a checkpoint.
struct CheckpointFacts {
  std::string id;
  std::string parent;  // The checkpoint that a delta builds on; empty: this is a full one.
  uint64_t timeline = 0;
  uint64_t step = 0;
  uint64_t examples = 0;
  uint64_t bytes = 0;
  std::map<std::string, double> metrics;
  uint64_t held_out = 0;  // The fingerprint of the records that `metrics` were measured on.
  absl::Time at;          // When it was committed.
};

// Returns the facts of the checkpoint of `manifest`, which was committed at `at`.
CheckpointFacts FactsOf(const v1::Manifest& manifest, absl::Time at);

struct CatalogOptions {
  uint32_t keep = 1;   // How many of the newest checkpoints are kept.
  std::string metric;  // Chooses the best; empty: the first usual metric that is there.
};

// The caller adds only checkpoints whose metrics were measured on the same records, or none.
// Thread-compatible.
class CheckpointCatalog {
 public:
  explicit CheckpointCatalog(CatalogOptions options) : options_(std::move(options)) {}

  void Add(CheckpointFacts facts);
  void Remove(const std::string& id);

  // The job has returned to checkpoint `id` and continues from it in a new timeline. Sets the
  // timeline of each checkpoint that is newer than `id`, and whose timeline is at most `timeline`,
  // to 0, so that these are older than all others. Does nothing if the catalog has no `id`.
  void GoOnFrom(const std::string& id, uint64_t timeline);

  // All checkpoints by age, the newest last.
  const std::vector<CheckpointFacts>& all() const { return facts_; }
  const CheckpointFacts* newest() const { return facts_.empty() ? nullptr : &facts_.back(); }
  const CheckpointFacts* Find(const std::string& id) const;
  // Returns the checkpoint with the best value of the metric (CatalogOptions::metric); null if no
  // checkpoint has the metric.
  const CheckpointFacts* best() const;
  // Returns true if `metrics` hold the metric, and its value is better than in every checkpoint.
  bool Surpasses(const std::map<std::string, double>& metrics) const;
  // Returns true if the checkpoint `facts` has a better value of the metric than `metrics`. Any
  // number is better than a NaN in `metrics`. False if either lacks the metric.
  bool Better(const CheckpointFacts& facts, std::map<std::string, double> metrics) const;
  // Returns how many deltas lead from the full checkpoint to `id`, `id` included: 0 if it is full.
  // nullopt if `id`, or a checkpoint that it builds on, is not in the catalog.
  std::optional<uint32_t> DeltasOf(const std::string& id) const;

  // Returns the ids of the checkpoints that can be deleted: those that are not among the newest
  // `keep`, are not the best, and are not ancestors of one of these. They must be deleted in the
  // returned order: the longest chains of deltas first, and the newest first among equals. Then no
  // checkpoint is deleted before the deltas that build on it, and all that remains is readable even
  // if the deletion is interrupted.
  std::vector<std::string> Superfluous() const;

 private:
  CatalogOptions options_;
  std::vector<CheckpointFacts> facts_;  // By timeline, step, id: the newest is the last.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CHECKPOINT_CATALOG_H_
