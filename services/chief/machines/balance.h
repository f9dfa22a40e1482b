// When partitions should be moved, and why: shards leave, have joined, are much busier than others,
// or somebody has asked for it. Which ones is the plan's affair.
#ifndef CAPSTAN_CHIEF_MACHINES_BALANCE_H_
#define CAPSTAN_CHIEF_MACHINES_BALANCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"

namespace capstan::chief {

struct BalanceOptions {
  bool automatic = false;         // Hot partitions are moved without being asked for.
  absl::Duration join_settling;   // Who comes within it is part of the same plan.
  absl::Duration leave_settling;  // The same for those that leave.
  // Automatic: the busiest shard's load against the mean, from which on something is done, and for
  // how long it has to be so. A plan makes it much less (kEven), so it is not made again soon.
  double hot = 1.3;
  absl::Duration hot_for = absl::Seconds(30);
  absl::Duration hot_every = absl::Minutes(2);
};

// Thread-compatible.
class Balance {
 public:
  explicit Balance(const BalanceOptions& options) : options_(options) {}

  // The shards as they are: those that stay, and how many partitions each has; and those that leave
  // and have some.
  using Counts = std::map<uint32_t, uint32_t>;
  void See(const Counts& stay, const std::set<uint32_t>& leave, double load_skew, absl::Time now);
  // Those that stay, as seen last.
  std::set<uint32_t> takers() const;

  void Ask() { asked_ = true; }

  struct Reason {
    std::string why;         // "shard 2 has joined"
    bool even = false;       // Those that stay are to be made even.
    bool automatic = false;  // Little by little: nobody waits for it.
    bool asked = false;  // The plan does what somebody has asked for, whatever else it is made for.
  };
  // Why a plan is to be made now, if one is. It is not said again until the shards change, or
  // OnGivenUp.
  std::optional<Reason> TakeReason(absl::Time now);

  // Somebody has joined, and who comes within a moment is part of the plan that will be made.
  bool AwaitsOthers(absl::Time now) const;

  // The plan has been carried out; an empty one at once.
  void OnCarriedOut();
  // It has not been, and is to be made again: what somebody has asked for, too.
  void OnGivenUp();

 private:
  std::set<uint32_t> Newcomers() const;

  BalanceOptions options_;
  Counts stay_;
  std::set<uint32_t> leave_;
  std::set<uint32_t> settled_;  // Those of stay_ that a plan has given what it could.
  absl::Time changed_at_ = absl::InfinitePast();
  absl::Time hot_since_ = absl::InfiniteFuture();
  absl::Time last_hot_ = absl::InfinitePast();
  bool planned_ = false;  // For the shards as they are.
  bool asked_ = false;
  std::optional<Reason> reason_;    // Why the plan under way was made,
  std::set<uint32_t> planned_for_;  // and between which shards.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_BALANCE_H_
