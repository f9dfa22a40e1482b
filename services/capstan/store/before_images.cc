#include "capstan/store/before_images.h"

namespace capstan {

void BeforeImages::Add(uint64_t key, const char* row) {
  places_.emplace(key, bytes_.size());
  bytes_.insert(bytes_.end(), row, row + row_bytes_);
}

char* BeforeImages::Find(uint64_t key) {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &bytes_[found->second];
}

void BeforeImages::ForEachKey(absl::FunctionRef<void(uint64_t)> visit) const {
  for (const auto& [key, place] : places_) visit(key);
}

size_t BeforeImages::memory_bytes() const {
  return bytes_.capacity() + places_.capacity() * (2 * sizeof(uint64_t) + 1);
}

}  // namespace capstan
