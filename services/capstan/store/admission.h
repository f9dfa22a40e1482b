// Decides which new keys get a row: those that have been pushed often enough.
#ifndef CAPSTAN_STORE_ADMISSION_H_
#define CAPSTAN_STORE_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace capstan {

// A key that has been pushed, but has no row yet.
struct Candidate {
  uint64_t key = 0;
  uint32_t seen = 0;
};

// Counts the pushes of keys that have no row. If there are too many candidates, the count of each
// is decreased by one, and those whose count is then 0 are forgotten. Thread-compatible.
class Admission {
 public:
  explicit Admission(uint32_t threshold) : threshold_(threshold) {}

  // Counts `times` pushes of the key. Returns true when the key should get its row; it is then not
  // a candidate any more.
  bool Admit(uint64_t key, uint32_t times, size_t max_candidates);

  void Restore(const Candidate& candidate) { seen_[candidate.key] = candidate.seen; }
  bool contains(uint64_t key) const { return seen_.contains(key); }

  std::vector<Candidate> InNoOrder() const;
  std::vector<Candidate> InOrderOfKeys() const;
  void Clear() { seen_.clear(); }
  size_t memory_bytes() const;

 private:
  void Forget(size_t keep);

  uint32_t threshold_;
  absl::flat_hash_map<uint64_t, uint32_t> seen_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ADMISSION_H_
