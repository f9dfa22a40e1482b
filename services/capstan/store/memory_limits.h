// How a shard divides the memory that it may take: rules that the shard keeps to, and that a plan
// of a job counts with. Pure functions.
#ifndef CAPSTAN_STORE_MEMORY_LIMITS_H_
#define CAPSTAN_STORE_MEMORY_LIMITS_H_

#include <algorithm>
#include <cstdint>

namespace capstan {

// What gradients that wait may take: half of the memory that the container has, or the machine. The
// rest is for the parameters, and for messages on their way.
inline uint64_t WaitingGradientsLimit(uint64_t memory_bytes) { return memory_bytes / 2; }

// What the transport may take for messages on their way, of all connections together: a quarter of
// the memory, and no more than 1 GiB, which keeps any network busy. With less than 64 MiB the
// messages of a few workers, of up to a MiB each, would have to wait for one another.
inline uint64_t MessagesLimit(uint64_t memory_bytes) {
  constexpr uint64_t kLeast = 64 << 20;
  constexpr uint64_t kMost = 1 << 30;
  return std::clamp(memory_bytes / 4, kLeast, kMost);
}

// What replies may take that clients have not taken yet: as much, and no more than 512 MiB. A
// hundred workers that read have a few of about 1 MiB each under way.
inline uint64_t RepliesLimit(uint64_t memory_bytes) {
  constexpr uint64_t kMost = 512 << 20;
  return std::min(kMost, MessagesLimit(memory_bytes));
}

// What pushes may take that come in pieces and are not complete: one always fits.
inline uint64_t IncompletePushesLimit(uint64_t memory_bytes) {
  return WaitingGradientsLimit(memory_bytes) / 2;
}

// What copies as of a round may keep of rows and blocks that change while they are made, where the
// shard holds `parameter_bytes`.
inline uint64_t KeptImagesLimit(uint64_t parameter_bytes) {
  constexpr uint64_t kShare = 10;
  constexpr uint64_t kLeast = 16 << 20;
  return std::max(kLeast, parameter_bytes / kShare);
}

}  // namespace capstan

#endif  // CAPSTAN_STORE_MEMORY_LIMITS_H_
