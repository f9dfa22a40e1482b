// Decides when partitions without a backup are given one, and when existing backups are spread over
// shards that have joined. This happens some time (`settling`) after the shards have changed or
// more partitions lack a backup, so that shards that join together are part of one plan. Backups
// are also spread once after the owners have been balanced.
#ifndef CAPSTAN_CHIEF_MACHINES_PAIRING_H_
#define CAPSTAN_CHIEF_MACHINES_PAIRING_H_

#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/time/time.h"

namespace capstan::chief {

// Thread-compatible.
class Pairing {
 public:
  explicit Pairing(absl::Duration settling) : settling_(settling) {}

  // Takes in the shards that may take partitions, and how many partitions have no backup.
  void See(const std::set<uint32_t>& takers, size_t unpaired, absl::Time now) {
    if (takers != takers_ || unpaired > unpaired_) changed_at_ = now;
    takers_ = takers;
    unpaired_ = unpaired;
  }

  // Returns true if there are too few shards for any backup.
  bool alone() const { return takers_.size() < 2; }
  // Returns true if the shards have changed since backups were last spread, or SpreadAnew was
  // called since.
  bool spreads() const { return takers_ != spread_over_; }
  bool Due(absl::Time now) const {
    return (unpaired_ > 0 || spreads()) && !alone() && now >= changed_at_ + settling_;
  }
  void OnPlanned() { spread_over_ = takers_; }
  // Makes the next plan reconsider every pair: the last plan was not completed, or owners that
  // handed partitions over have become their backups, regardless of zones.
  void SpreadAnew() { spread_over_.clear(); }

 private:
  absl::Duration settling_;
  std::set<uint32_t> takers_;
  std::set<uint32_t> spread_over_;
  size_t unpaired_ = 0;
  absl::Time changed_at_ = absl::InfinitePast();
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_PAIRING_H_
