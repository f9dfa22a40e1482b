// When partitions without a backup are to be given one, and backups spread over shards that have
// come: a moment after the shards, or what lacks a backup, have changed, so that those who come
// together are part of one plan; and once after owners have been balanced.
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

  // The shards that may take partitions, and how many partitions have no backup.
  void See(const std::set<uint32_t>& takers, size_t unpaired, absl::Time now) {
    if (takers != takers_ || unpaired > unpaired_) changed_at_ = now;
    takers_ = takers;
    unpaired_ = unpaired;
  }

  // There is nobody who could back up anything.
  bool alone() const { return takers_.size() < 2; }
  // There are others than when backups were spread last, or SpreadAnew.
  bool spreads() const { return takers_ != spread_over_; }
  bool Due(absl::Time now) const {
    return (unpaired_ > 0 || spreads()) && !alone() && now >= changed_at_ + settling_;
  }
  void OnPlanned() { spread_over_ = takers_; }
  // What was planned has not been carried out to its end, or shards hand over partitions and become
  // their backups, in whatever zone: the next plan looks at every pair.
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
