#include "chief/state/shard_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/host_port.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"
#include "capstan/consistency/staleness.h"
#include "capstan/security/shard_secret.h"

namespace capstan::chief {
namespace {

constexpr size_t kVoidShardsKept = 1024;
// As long as a DNS name; values of Kubernetes labels are shorter.
constexpr size_t kMostZoneBytes = 253;

constexpr size_t kMostTables = 4096;
constexpr size_t kMostPartitions = 65536;
constexpr int kMostMemoryUses = 64;
constexpr size_t kMostWordsBytes = 256;

constexpr absl::Duration kOnTheWay = absl::Seconds(1);  // More than a heartbeat takes to arrive.

constexpr double kCpuShareSeconds = 10;  // Time constant of its moving average.

template <typename Field>
void Cap(Field& field, size_t most) {
  const auto size = static_cast<size_t>(field.size());
  if (size > most) field.erase(field.begin() + static_cast<ptrdiff_t>(most), field.end());
}

// Reduces a shard's report to what is kept. Returns a fresh copy, so that the memory of what was
// removed is freed.
v1::ShardReport Kept(v1::ShardReport told) {
  Cap(*told.mutable_staleness_counts(), kStalenessBuckets);
  Cap(*told.mutable_row_staleness_counts(), kStalenessBuckets);
  Cap(*told.mutable_tables(), kMostTables);
  Cap(*told.mutable_partitions(), kMostPartitions);
  Cap(*told.mutable_broken_pairs(), kMostPartitions);
  Cap(*told.mutable_memory(), kMostMemoryUses);
  for (v1::MemoryReport& memory : *told.mutable_memory()) {
    if (memory.what().size() > kMostWordsBytes) {
      memory.set_what(FirstBytes(memory.what(), kMostWordsBytes));
    }
  }
  told.DiscardUnknownFields();
  v1::ShardReport kept = told;
  return kept;
}

double Rate(uint64_t now, uint64_t before, double seconds) {
  if (now < before || seconds <= 0) return 0;
  return static_cast<double>(now - before) / seconds;
}

// Returns the moving average of the shard's CPU share, `seconds` after `before`. The report comes
// from a peer, so its numbers may have any value.
double CpuShare(const v1::ShardReport& now, const Shard& before, double seconds) {
  const double used = now.cpu_seconds() - before.report.cpu_seconds();
  const bool known = before.report.cpu_seconds() > 0 && now.cpu_cores() > 0 && used >= 0;
  if (!known || seconds <= 0) return before.cpu_share;
  const double share = std::min(1.0, used / seconds / now.cpu_cores());
  return before.cpu_share +
         (share - before.cpu_share) * (1 - std::exp(-seconds / kCpuShareSeconds));
}

void Arrive(Shard& shard, absl::Time now) {
  if (!shard.present) shard.came = now;
  shard.present = true;
  shard.heard = now;
}

}  // namespace

absl::Status ShardTable::Check(const v1::RegisterShardRequest& request) const {
  const std::optional<HostPort> at = SplitHostPort(request.address());
  if (!at || at->port == 0) {
    return absl::InvalidArgumentError(absl::StrCat("shard ", request.index(), ": its address ",
                                                   Quoted(request.address()), " is not host:port"));
  }
  if (request.incarnation() == 0) return absl::InvalidArgumentError("incarnation is 0");
  if (request.zone().size() > kMostZoneBytes) {
    return absl::InvalidArgumentError(absl::StrCat("shard ", request.index(), ": its zone has ",
                                                   request.zone().size(), " bytes, at most ",
                                                   kMostZoneBytes, " are allowed"));
  }
  if (request.index() >= most_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the job has ", most_, " partitions; there are none for shard ", request.index()));
  }
  if (std::find(void_.begin(), void_.end(), Incarnation{request.incarnation()}) != void_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", request.index(),
                     ": this incarnation was given up; another process, "
                     "or the backups of its partitions, have come in its place"));
  }
  return CheckSpeaker(request.index(), request.incarnation(), request.secret());
}

bool ShardTable::IsOwnSecret(const Shard& shard, const std::string& secret) {
  return secret.empty() ? !shard.shows_secret : IsSecretOf(secret, shard.incarnation);
}

absl::Status ShardTable::CheckSpeaker(uint32_t index, uint64_t incarnation,
                                      const std::string& secret) const {
  bool its_own = secret.empty() || IsSecretOf(secret, Incarnation{incarnation});
  for (const auto& [other, shard] : shards_) {
    if (Raw(shard.incarnation) != incarnation) continue;
    its_own = its_own && other == index && IsOwnSecret(shard, secret);
  }
  if (its_own) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("somebody speaks as incarnation ", incarnation, " of shard ", index,
                   ", and does not show the secret of that process"));
}

absl::StatusOr<ShardTable::Arrival> ShardTable::Register(const v1::RegisterShardRequest& request,
                                                         absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(Check(request));
  const auto present = shards_.find(request.index());
  if (present != shards_.end() && Raw(present->second.incarnation) == request.incarnation()) {
    Arrive(present->second, now);
    present->second.address = request.address();
    present->second.loaded_timeline = request.loaded_timeline();
    // A shard taken over from an earlier chief's view has none of these yet.
    present->second.memory_bytes = request.memory_bytes();
    present->second.open_files = request.open_files();
    present->second.zone = request.zone();
    present->second.shows_secret = !request.secret().empty();
    return Arrival::kSame;
  }
  const Arrival arrival = present == shards_.end() ? Arrival::kNew : Arrival::kReplaced;
  if (arrival == Arrival::kReplaced) Void(present->second.incarnation);
  Shard shard;
  shard.index = request.index();
  shard.address = request.address();
  shard.incarnation = Incarnation{request.incarnation()};
  shard.came = now;
  shard.heard = now;
  shard.report_at = now;
  shard.memory_bytes = request.memory_bytes();
  shard.open_files = request.open_files();
  shard.zone = request.zone();
  shard.shows_secret = !request.secret().empty();
  shard.loaded_timeline = request.loaded_timeline();
  shards_[request.index()] = shard;
  return arrival;
}

bool ShardTable::Replaces(const v1::RegisterShardRequest& request) const {
  const Shard* present = Find(request.index());
  return present != nullptr && Raw(present->incarnation) != request.incarnation() &&
         Check(request).ok();
}

void ShardTable::Void(Incarnation incarnation) {
  void_.push_back(incarnation);
  if (void_.size() > kVoidShardsKept) void_.pop_front();
}

void ShardTable::GiveUp(uint32_t index) {
  const auto found = shards_.find(index);
  if (found == shards_.end()) return;
  Void(found->second.incarnation);
  shards_.erase(found);
}

void ShardTable::Inherit(const v1::View& view, absl::Time now) {
  for (const v1::ShardInfo& info : view.shards()) {
    Shard& shard = shards_[info.index()];
    shard.index = info.index();
    shard.address = info.address();
    shard.incarnation = Incarnation{info.incarnation()};
    shard.heard = now;
    shard.report_at = now;
    shard.present = false;
    shard.draining = info.draining();
    shard.shows_secret = info.shows_secret();
  }
}

uint64_t ShardTable::LeastMemory() const {
  uint64_t least = 0;
  for (const auto& [index, shard] : shards_) {
    if (shard.memory_bytes == 0) continue;
    least = least == 0 ? shard.memory_bytes : std::min(least, shard.memory_bytes);
  }
  return least;
}

bool ShardTable::complete() const {
  for (uint32_t index = 0; index < quorum_; ++index) {
    const Shard* shard = Find(index);
    if (shard == nullptr || !shard->present) return false;
  }
  return true;
}

const Shard* ShardTable::Find(uint32_t index) const {
  const auto shard = shards_.find(index);
  return shard == shards_.end() ? nullptr : &shard->second;
}

Shard* ShardTable::Find(uint32_t index) {
  const auto shard = shards_.find(index);
  return shard == shards_.end() ? nullptr : &shard->second;
}

Shard* ShardTable::Find(uint32_t index, Incarnation incarnation) {
  const auto shard = shards_.find(index);
  if (shard == shards_.end() || shard->second.incarnation != incarnation) return nullptr;
  return &shard->second;
}

void ShardTable::Hear(Shard& shard, const v1::ShardHeartbeatRequest& request, absl::Time now) {
  const double seconds = absl::ToDoubleSeconds(now - shard.report_at);
  shard.pushes_per_second = Rate(request.report().pushes(), shard.report.pushes(), seconds);
  shard.pulls_per_second = Rate(request.report().pulls(), shard.report.pulls(), seconds);
  shard.cpu_share = CpuShare(request.report(), shard, seconds);
  shard.report = Kept(request.report());
  shard.full.Hear(shard.report, now);
  shard.report_at = now;
  Arrive(shard, now);
  // A heartbeat sent before the process ended would have arrived by now: the process lives after
  // all.
  if (now - shard.gone_at > kOnTheWay) shard.gone = false;
  // A shard never revokes its announcement to leave: a heartbeat without it was sent earlier.
  shard.draining = shard.draining || request.draining();
  shard.loaded_timeline = request.loaded_timeline();
  shard.shows_secret = !request.secret().empty();
}

absl::Time ShardTable::ThereSince(const std::set<uint32_t>& shards, absl::Duration patience,
                                  absl::Time now) const {
  absl::Time since = absl::InfinitePast();
  for (uint32_t index : shards) {
    const Shard* shard = Find(index);
    const bool there = shard != nullptr && shard->present && now - shard->heard <= patience;
    since = there ? std::max(since, shard->came) : absl::InfiniteFuture();
  }
  return since;
}

uint64_t ShardTable::StalenessMedian() const {
  std::array<uint64_t, kStalenessBuckets> counts{};
  for (const auto& [index, shard] : shards_) {
    const size_t buckets =
        std::min(static_cast<size_t>(shard.report.staleness_counts_size()), kStalenessBuckets);
    for (size_t i = 0; i < buckets; ++i) {
      counts[i] += shard.report.staleness_counts(static_cast<int>(i));
    }
  }
  return capstan::StalenessMedian(counts);
}

uint64_t ShardTable::StalenessMax() const {
  uint64_t max = 0;
  for (const auto& [index, shard] : shards_) max = std::max(max, shard.report.max_staleness());
  return max;
}

}  // namespace capstan::chief
