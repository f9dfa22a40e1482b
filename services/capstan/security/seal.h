// Seals prove to shards what the chief or the coordinator of rounds has said, when workers carry it
// to them. Only the chief and the shards know the key, so a worker can neither make a seal nor use
// one for anything else. A worker that lies cannot pass for the holder of a lease, tell another
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

// Each seal is for one timeline: none is right in a later one. *Immutable*.
class Sealer {
 public:
  // With an empty key, which a chief of an earlier version gives, every seal is 0, and every shown
  // seal is right.
  explicit Sealer(std::string key = "") : key_(std::move(key)) {}

  static std::string NewKey();  // Returns a random key.

  // The seal of a lease of `trainer`; it is right only in requests of that trainer.
  uint64_t OfTask(uint64_t timeline, TrainerId trainer, StreamId stream,
                  const Generation& generation) const;
  uint64_t OfLane(uint64_t timeline, TrainerId trainer, uint32_t lane,
                  const Generation& generation) const;
  uint64_t OfRound(uint64_t timeline, const RoundCommit& closed) const;
  uint64_t OfExamples(uint64_t timeline, uint64_t examples) const;

  // Returns whether `shown`, the seal in a request, is the right one, `made`.
  bool IsRight(uint64_t shown, uint64_t made) const { return key_.empty() || shown == made; }

  const std::string& key() const { return key_; }

 private:
  uint64_t Seal(absl::Span<const uint64_t> words) const;

  std::string key_;
};

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_SEAL_H_
