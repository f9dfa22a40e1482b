// Seals: what the chief and the coordinator of rounds say, and workers carry to the shards. A
// worker can neither make one nor use one for anything else, because the key is known to the chief
// and the shards alone; so a worker that lies cannot pass for the holder of a lease, tell another
// trainer's clock, close a round, or say that the job is further than it is.
#ifndef CAPSTAN_SECURITY_SEAL_H_
#define CAPSTAN_SECURITY_SEAL_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"

namespace capstan {

// Each seal is of one timeline: what is over has none. *Immutable*.
class Sealer {
 public:
  // An empty key, as a chief of an earlier version gives it: every seal is 0, and every one is
  // right.
  explicit Sealer(std::string key = "") : key_(std::move(key)) {}

  static std::string NewKey();  // Random.

  // The seal of a lease: `trainer` is its holder, as which alone it serves.
  uint64_t OfTask(uint64_t timeline, TrainerId trainer, StreamId stream,
                  const Generation& generation) const;
  uint64_t OfLane(uint64_t timeline, TrainerId trainer, uint32_t lane,
                  const Generation& generation) const;
  uint64_t OfRound(uint64_t timeline, const RoundCommit& closed) const;
  uint64_t OfExamples(uint64_t timeline, uint64_t examples) const;

  // Returns whether a seal that somebody shows is the one that was made.
  bool IsRight(uint64_t shown, uint64_t made) const { return key_.empty() || shown == made; }

  const std::string& key() const { return key_; }

 private:
  uint64_t Seal(absl::Span<const uint64_t> words) const;

  std::string key_;
};

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_SEAL_H_
