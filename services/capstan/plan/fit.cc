#include "capstan/plan/fit.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/open_files.h"
#include "capstan/base/status.h"
#include "capstan/config/quantity.h"
#include "capstan/consistency/decisions.h"
#include "capstan/plan/memory.h"
#include "capstan/store/memory_limits.h"

namespace capstan {
namespace {

constexpr char kGradientsThatWait[] = "gradients that wait";

// Returns "3.8MiB", and the number of rows, if there are any.
std::string PushText(const Share& busiest) {
  const std::string bytes = ByteSizeText(busiest.pushed_bytes);
  return busiest.rows == 0 ? bytes : absl::StrCat(bytes, " with ", busiest.rows, " rows");
}

// Returns what a shard holds at the same time when the last gradient of a round or an aggregate
// arrives. Gradients that are sent again until there is memory take none meanwhile.
ProcessMemory HeldTogether(const v1::JobSpec& job, const Share& busiest, uint64_t dense,
                           bool twice) {
  ProcessMemory held;
  held.parts = {
      {twice ? "dense parameters with the optimizer's slots and their backups (replicas: 1)"
             : "dense parameters with the optimizer's slots",
       dense},
      // All lanes may have the same keys.
      {"the sum of the round", RoundSumBytes(job, busiest, busiest.rows)},
      {kGradientsThatWait, NeedsRoomForAll(job) ? (twice ? 2 : 1) * WaitingBytes(job, busiest) : 0},
      {"a push on its way", busiest.largest_push_bytes}};
  std::erase_if(held.parts, [](const MemoryPart& part) { return part.bytes == 0; });
  return held;
}

absl::Status CheckTogether(const ProcessMemory& held, int shards, uint64_t shard_memory) {
  if (held.bytes() <= shard_memory) return absl::OkStatus();
  const auto add = [](std::string* text, const MemoryPart& part) {
    absl::StrAppend(text, ByteSizeText(part.bytes), " ", part.what);
  };
  const bool wait = std::any_of(held.parts.begin(), held.parts.end(), [](const MemoryPart& part) {
    return part.what == kGradientsThatWait;
  });
  return absl::FailedPreconditionError(absl::StrCat(
      "a shard of ", shards, " has ", ByteSizeText(shard_memory),
      " of memory, and what it holds at the same time takes ", ByteSizeText(held.bytes()), ": ",
      absl::StrJoin(held.parts, " + ", add), ": take more shards, ",
      wait ? "fewer lanes or a lower update.aggregate, " : "", "or give them more memory"));
}

}  // namespace

std::string WaitingAbove(const v1::JobSpec& job, const Share& busiest, uint64_t limit) {
  const uint64_t waiting = WaitingBytes(job, busiest);
  if (waiting <= limit) return "";
  return absl::StrCat(ByteSizeText(waiting), " (", waiting / busiest.pushed_bytes, " of ",
                      PushText(busiest), "), and ", ByteSizeText(limit));
}

std::string NeverComplete(const v1::JobSpec& job, const Share& busiest, int shards,
                          uint64_t shard_memory) {
  if (shard_memory == 0 || !NeedsRoomForAll(job)) return "";
  const bool twice = IsHeldTwice(job, shards);
  const uint64_t limit = MemoryLimit(MemoryUse::kWaitingGradients, shard_memory);
  const std::string above = WaitingAbove(job, busiest, twice ? limit / 2 : limit);
  if (above.empty()) return "";
  return absl::StrCat(
      "the gradients that wait on a shard are ", above,
      twice ? ", a quarter of a shard's memory beside as many that it backs up (replicas: 1),"
            : ", half of a shard's memory,",
      " may wait: the round or aggregate would never be complete; take fewer lanes or a lower "
      "update.aggregate, more shards, or give them more memory");
}

int64_t OpenFilesOfAShard(const v1::JobSpec& job, int64_t workers, int64_t shards) {
  return OpenFilesWith(workers * ConnectionsOfAWorker(job) + 2 * shards);
}

absl::Status CheckShardsFit(const v1::JobSpec& job, uint64_t keys, int shards,
                            uint64_t shard_memory) {
  if (shard_memory == 0) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<uint64_t> dense, DenseBytes(job, shards));
  const bool twice = IsHeldTwice(job, shards);
  const uint64_t most = (twice ? 2 : 1) * *std::max_element(dense.begin(), dense.end());
  if (most > shard_memory) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a shard of ", shards, " has ", ByteSizeText(shard_memory),
        " of memory, and its dense parameters with the optimizer's slots take ", ByteSizeText(most),
        twice ? ", those that it backs up (replicas: 1) included" : "",
        ": take more shards, or give them more memory"));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const Traffic traffic, TrafficOf(job, keys, shards));
  const std::string never = NeverComplete(job, traffic.busiest, shards, shard_memory);
  if (!never.empty()) return absl::FailedPreconditionError(never);
  return CheckTogether(HeldTogether(job, traffic.busiest, most, twice), shards, shard_memory);
}

}  // namespace capstan
