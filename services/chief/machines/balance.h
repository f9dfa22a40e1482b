// Decides when partitions should be moved, and why: shards leave, have joined, are much busier than
// others, or a person has asked for it. PlanMoves decides which partitions go where.
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
  bool automatic = false;         // Overloaded shards are relieved without a request.
  absl::Duration join_settling;   // Shards that join within this time get one plan.
  absl::Duration leave_settling;  // The same for shards that leave.
  // If `automatic`: partitions are moved when the busiest shard has had at least `hot` times the
  // mean load for `hot_for`, and at most once in `hot_every`. A plan brings the load within kEven
  // of the mean, so the next one is not needed soon.
  double hot = 1.3;
  absl::Duration hot_for = absl::Seconds(30);
  absl::Duration hot_every = absl::Minutes(2);
};

// Thread-compatible.
class Balance {
 public:
  explicit Balance(const BalanceOptions& options) : options_(options) {}

  // Takes in the present shards: those that `stay`, with the number of partitions of each; those
  // that `leave` and still have some; and the load of the busiest shard divided by the mean.
  using Counts = std::map<uint32_t, uint32_t>;
  void See(const Counts& stay, const std::set<uint32_t>& leave, double load_skew, absl::Time now);
  // Returns the shards that stay, as of the last See.
  std::set<uint32_t> takers() const;

  // A person asks for a plan.
  void Ask() { asked_ = true; }

  struct Reason {
    std::string why;         // "shard 2 has joined"
    bool even = false;       // The plan balances the shards that stay.
    bool automatic = false;  // The plan was not requested, and nobody waits for it.
    bool asked = false;      // The plan also fulfils the request of an Ask().
  };
  // Returns why a plan should be made now; nullopt if none should. The same reason is not returned
  // again until the shards change or OnGivenUp is called.
  std::optional<Reason> TakeReason(absl::Time now);

  // Returns true while a shard has joined and the plan for it waits for more shards to join.
  bool AwaitsOthers(absl::Time now) const;

  // The plan that TakeReason requested has been carried out, or was empty.
  void OnCarriedOut();
  // The plan has not been carried out: TakeReason will request it again, even if it was made for an
  // Ask().
  void OnGivenUp();

 private:
  std::set<uint32_t> Newcomers() const;

  BalanceOptions options_;
  Counts stay_;
  std::set<uint32_t> leave_;
  std::set<uint32_t> settled_;  // Shards of stay_ for which a plan has been carried out.
  absl::Time changed_at_ = absl::InfinitePast();
  absl::Time hot_since_ = absl::InfiniteFuture();
  absl::Time last_hot_ = absl::InfinitePast();
  bool planned_ = false;  // A plan was made since the shards last changed.
  bool asked_ = false;
  std::optional<Reason> reason_;    // Why the plan under way was made,
  std::set<uint32_t> planned_for_;  // and between which shards.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_BALANCE_H_
