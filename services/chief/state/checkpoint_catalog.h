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
  std::string parent;  // What only a delta has.
  uint64_t timeline = 0;
  uint64_t step = 0;
  uint64_t examples = 0;
  uint64_t bytes = 0;
  std::map<std::string, double> metrics;
  absl::Time at;  // When it was committed.
};

CheckpointFacts FactsOf(const v1::Manifest& manifest, absl::Time at);

struct CatalogOptions {
  uint32_t keep = 1;
  std::string metric;  // By which the best is found; empty: the first of the usual ones.
};

// Thread-compatible.
class CheckpointCatalog {
 public:
  explicit CheckpointCatalog(CatalogOptions options) : options_(std::move(options)) {}

  void Add(CheckpointFacts facts);
  void Remove(const std::string& id);

  // Those that are newer than `id`, up to this timeline, are taken for older than all others, and
  // of no timeline.
  void GoOnFrom(const std::string& id, uint64_t timeline);

  // By age, the newest last.
  const std::vector<CheckpointFacts>& all() const { return facts_; }
  const CheckpointFacts* newest() const { return facts_.empty() ? nullptr : &facts_.back(); }
  const CheckpointFacts* Find(const std::string& id) const;
  // By the evaluation metric; null: none has it.
  const CheckpointFacts* best() const;
  // By the same metric, which these metrics hold, they are better than those of every checkpoint.
  bool Surpasses(const std::map<std::string, double>& metrics) const;
  // By the same metric this checkpoint is better than something that has these metrics. Whatever
  // has one is better than what has come to no number.
  bool Better(const CheckpointFacts& facts, std::map<std::string, double> metrics) const;
  // Deltas between this checkpoint and the full one it builds on; nullopt: that is not there.
  std::optional<uint32_t> DeltasOf(const std::string& id) const;

  // Those that need not be kept: not among the newest `keep`, not the best, and no parent of one of
  // these. In the order in which they are deleted, so that what is left of them can be read,
  // wherever that is broken off: no parent before what builds on it, else the newest first.
  std::vector<std::string> Superfluous() const;

 private:
  CatalogOptions options_;
  std::vector<CheckpointFacts> facts_;  // By timeline, step, id: the newest is the last.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CHECKPOINT_CATALOG_H_
