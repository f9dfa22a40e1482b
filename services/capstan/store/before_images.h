// Copies of rows as they were before their first change since a mark.
#ifndef CAPSTAN_STORE_BEFORE_IMAGES_H_
#define CAPSTAN_STORE_BEFORE_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"

namespace capstan {

// Thread-compatible.
class BeforeImages {
 public:
  explicit BeforeImages(size_t row_bytes) : row_bytes_(row_bytes) {}

  // Copies the row. REQUIRES: there is no image of this key; `row` is row_bytes long.
  void Add(uint64_t key, const char* row);

  // Returns the bytes of the row's image, valid until the next Add; null if there is none.
  char* Find(uint64_t key);

  void ForEachKey(absl::FunctionRef<void(uint64_t)> visit) const;
  size_t memory_bytes() const;

 private:
  size_t row_bytes_;
  std::vector<char> bytes_;
  absl::flat_hash_map<uint64_t, size_t> places_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_BEFORE_IMAGES_H_
