// The result of a synchronous round. The coordinator decides it once, and tells it to every shard;
// requests of the next round carry it to a shard that does not know it.
#ifndef CAPSTAN_CONSISTENCY_ROUND_COMMIT_H_
#define CAPSTAN_CONSISTENCY_ROUND_COMMIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/v1/common.pb.h"

namespace capstan {

// One lane's part in a round. The generation identifies the computation: a shard applies only the
// gradient that this generation staged.
struct ClosedLane {
  LaneIndex lane{};
  Generation generation;
  uint32_t examples = 0;
  friend bool operator==(const ClosedLane&, const ClosedLane&) = default;
};

// Rounds are numbered from 1; round 0 without lanes means that no round has closed yet.
struct RoundCommit {
  uint64_t round = 0;
  std::vector<ClosedLane> lanes;  // Ascending by lane, each once.
  uint64_t seal = 0;              // v1::RoundCommit.seal, for the way to the shards. Not compared.
  friend bool operator==(const RoundCommit& a, const RoundCommit& b) {
    return a.round == b.round && a.lanes == b.lanes;
  }
};

// INVALID_ARGUMENT: the lanes do not ascend, or a lane's number is too large.
[[nodiscard]] absl::StatusOr<RoundCommit> RoundCommitFromProto(const v1::RoundCommit& proto);
void ToProto(const RoundCommit& set, v1::RoundCommit& proto);
void ToProto(const ClosedLane& lane, v1::ClosedLane& proto);

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_ROUND_COMMIT_H_
