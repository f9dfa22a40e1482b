// Seals prove to shards what the chief or the coordinator of rounds has said when workers pass it
// on to them. Only the chief and the shards know the key, so a worker can neither create a seal nor
// use one for anything else. A dishonest worker cannot pass for the holder of a lease, report
// another trainer's clock, close a round, or claim more progress of the job.
#ifndef CAPSTAN_SECURITY_SEAL_H_
#define CAPSTAN_SECURITY_SEAL_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"

namespace capstan {

// Each seal is for one timeline, and invalid in a later one. *Immutable*.
class Sealer {
 public:
  // With an empty key, as given by a chief of an earlier version, every seal is 0, and every seal
  // is accepted.
  explicit Sealer(std::string key = "") : key_(std::move(key)) {}

  static std::string NewKey();  // Returns a random key.

  // Returns the seal of a lease of `trainer`; it is valid only in requests of that trainer.
  uint64_t OfTask(uint64_t timeline, TrainerId trainer, StreamId stream,
                  const Generation& generation) const;
  uint64_t OfLane(uint64_t timeline, TrainerId trainer, uint32_t lane,
                  const Generation& generation) const;
  uint64_t OfRound(uint64_t timeline, const RoundCommit& closed) const;
  uint64_t OfExamples(uint64_t timeline, uint64_t examples) const;

  // Returns true if `shown`, the seal in a request, equals the right one, `made`.
  bool IsRight(uint64_t shown, uint64_t made) const { return key_.empty() || shown == made; }

  const std::string& key() const { return key_; }

 private:
  uint64_t Seal(absl::Span<const uint64_t> words) const;

  std::string key_;
};

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_SEAL_H_
