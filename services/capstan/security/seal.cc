#include "capstan/security/seal.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>
#include <vector>

#include "capstan/base/check.h"

namespace capstan {
namespace {

constexpr int kKeyBytes = 32;

// The first word of the sealed content, so that a seal of one kind is never valid for another.
enum Kind : uint64_t { kTask = 1, kLane = 2, kRound = 3, kExamples = 4 };

}  // namespace

std::string Sealer::NewKey() {
  std::string key(kKeyBytes, '\0');
  CAPSTAN_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), kKeyBytes) == 1);
  return key;
}

uint64_t Sealer::OfTask(uint64_t timeline, TrainerId trainer, StreamId stream,
                        const Generation& generation) const {
  return Seal({kTask, timeline, Raw(trainer), stream.value, generation.term, generation.count});
}

uint64_t Sealer::OfLane(uint64_t timeline, TrainerId trainer, uint32_t lane,
                        const Generation& generation) const {
  return Seal({kLane, timeline, Raw(trainer), lane, generation.term, generation.count});
}

uint64_t Sealer::OfRound(uint64_t timeline, const RoundCommit& closed) const {
  std::vector<uint64_t> words = {kRound, timeline, closed.round};
  for (const ClosedLane& lane : closed.lanes) {
    const auto index = static_cast<uint64_t>(Raw(lane.lane));
    words.insert(words.end(), {index, lane.generation.term, lane.generation.count, lane.examples});
  }
  return Seal(words);
}

uint64_t Sealer::OfExamples(uint64_t timeline, uint64_t examples) const {
  return Seal({kExamples, timeline, examples});
}

// Returns the first 64 bits of an HMAC-SHA256: too many to be guessed by trying them on a shard.
uint64_t Sealer::Seal(absl::Span<const uint64_t> words) const {
  if (key_.empty()) return 0;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CAPSTAN_CHECK(HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                     reinterpret_cast<const unsigned char*>(words.data()),
                     words.size() * sizeof(uint64_t), digest, &size) != nullptr);
  uint64_t seal = 0;
  std::memcpy(&seal, digest, sizeof(seal));
  return seal;
}

}  // namespace capstan
