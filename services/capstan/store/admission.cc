#include "capstan/store/admission.h"

#include <algorithm>

namespace capstan {

bool Admission::Admit(uint64_t key, uint32_t times, size_t max_candidates) {
  if (threshold_ <= times) {
    seen_.erase(key);
    return true;
  }
  uint32_t& seen = seen_[key];
  seen += times;
  if (seen >= threshold_) {
    seen_.erase(key);
    return true;
  }
  if (seen_.size() > max_candidates) Forget(max_candidates / 2);
  return false;
}

// The outcome depends on the counts alone, not on the order in which the map holds them.
void Admission::Forget(size_t keep) {
  while (seen_.size() > keep) {
    absl::erase_if(seen_, [](auto& entry) { return --entry.second == 0; });
  }
}

std::vector<Candidate> Admission::InNoOrder() const {
  std::vector<Candidate> candidates;
  candidates.reserve(seen_.size());
  for (const auto& [key, seen] : seen_) candidates.push_back({key, seen});
  return candidates;
}

std::vector<Candidate> Admission::InOrderOfKeys() const {
  std::vector<Candidate> candidates = InNoOrder();
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  return candidates;
}

size_t Admission::memory_bytes() const {
  constexpr size_t kControlByte = 1;
  return seen_.capacity() * (sizeof(Candidate) + kControlByte);
}

}  // namespace capstan
