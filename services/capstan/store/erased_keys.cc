#include "capstan/store/erased_keys.h"

#include <algorithm>

namespace capstan {

void ErasedKeys::Add(uint64_t key, size_t rows) {
  constexpr size_t kShare = 2;
  if (!since_.known) return;
  since_.keys.insert(key);
  if (since_.keys.size() > std::max(least_, rows / kShare)) since_ = {};
}

}  // namespace capstan
