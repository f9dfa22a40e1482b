#include "chief/machines/balance.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan::chief {
namespace {

std::set<uint32_t> KeysOf(const Balance::Counts& counts) {
  std::set<uint32_t> keys;
  for (const auto& [key, count] : counts) keys.insert(key);
  return keys;
}

std::string Said(const std::set<uint32_t>& shards, const char* one, const char* more) {
  return absl::StrCat(shards.size() == 1 ? "shard " : "shards ", absl::StrJoin(shards, ", "),
                      shards.size() == 1 ? one : more);
}

}  // namespace

void Balance::See(const Counts& stay, const std::set<uint32_t>& leave, double load_skew,
                  absl::Time now) {
  const std::set<uint32_t> staying = KeysOf(stay);
  if (KeysOf(stay_) != staying || leave_ != leave) {
    changed_at_ = now;
    planned_ = false;
  }
  stay_ = stay;
  leave_ = leave;
  std::erase_if(settled_, [&staying](uint32_t shard) { return !staying.contains(shard); });
  hot_since_ = load_skew < options_.hot ? absl::InfiniteFuture() : std::min(hot_since_, now);
}

std::set<uint32_t> Balance::takers() const { return KeysOf(stay_); }

// Returns the shards that have less than half of an equal share, and that no plan has given
// partitions yet.
std::set<uint32_t> Balance::Newcomers() const {
  uint64_t partitions = 0;
  for (const auto& [shard, count] : stay_) partitions += count;
  std::set<uint32_t> newcomers;
  for (const auto& [shard, count] : stay_) {
    if (2 * uint64_t{count} * stay_.size() < partitions && !settled_.contains(shard)) {
      newcomers.insert(shard);
    }
  }
  return newcomers;
}

std::optional<Balance::Reason> Balance::TakeReason(absl::Time now) {
  if (stay_.empty()) return std::nullopt;
  const std::set<uint32_t> newcomers = Newcomers();
  const bool joined = !newcomers.empty() && now >= changed_at_ + options_.join_settling;
  std::optional<Reason> reason;
  if (!planned_ && !leave_.empty() && now >= changed_at_ + options_.leave_settling) {
    reason = Reason{.why = Said(leave_, " leaves", " leave"), .even = joined};
  } else if (!planned_ && leave_.empty() && joined) {
    reason = Reason{.why = Said(newcomers, " has joined", " have joined"), .even = true};
  } else if (asked_) {
    reason = Reason{.why = "somebody has asked for it", .even = true};
  } else if (options_.automatic && now >= hot_since_ + options_.hot_for &&
             now >= last_hot_ + options_.hot_every) {
    last_hot_ = now;
    reason =
        Reason{.why = "a shard is much busier than the others", .even = true, .automatic = true};
  }
  if (!reason) return std::nullopt;
  planned_ = true;
  planned_for_ = takers();
  // The new plan replaces the one under way. If a person has asked for that one, the new plan has
  // to fulfil the request, or it remains open.
  const bool asked = asked_ || (reason_ && reason_->asked);
  const bool fulfils = reason->even && !reason->automatic;
  reason->asked = asked && fulfils;
  asked_ = asked && !fulfils;
  reason_ = reason;
  return reason;
}

bool Balance::AwaitsOthers(absl::Time now) const {
  return now < changed_at_ + options_.join_settling && !Newcomers().empty();
}

void Balance::OnCarriedOut() {
  // Shards that have joined since the plan was made have got nothing by it.
  if (reason_ && reason_->even) settled_ = planned_for_;
  reason_.reset();
}

void Balance::OnGivenUp() {
  planned_ = false;
  if (reason_ && reason_->asked) asked_ = true;
  reason_.reset();
}

}  // namespace capstan::chief
