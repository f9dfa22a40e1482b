// The keys of a table whose rows are gone since its last safe copy. A later copy, of changes alone,
// must erase them from what that copy has; where they are not known it must be a whole one.
#ifndef CAPSTAN_STORE_ERASED_KEYS_H_
#define CAPSTAN_STORE_ERASED_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace capstan {

// Thread-compatible.
class ErasedKeys {
 public:
  using Keys = absl::flat_hash_set<uint64_t>;

  // So many are remembered of any table, and of a large one half as many as it has rows. Were there
  // more, the next copy had better be a whole one.
  static constexpr size_t kLeast = 4096;
  explicit ErasedKeys(size_t least = kLeast) : least_(least) {}

  // Every key that is erased from now on is known. Before the first call, and the first mark, none.
  void Track() { since_ = {.known = true}; }
  // All that have been erased since the mark, or, where there is none, since the last safe copy.
  bool known() const { return since_.known; }

  // `key` has no row any more; `rows` others have. Forgets all of them where they are too many.
  void Add(uint64_t key, size_t rows);
  // It has one again.
  void Remove(uint64_t key) {
    if (!since_.keys.empty()) since_.keys.erase(key);
  }

  // All so far are before the mark. REQUIRES: the mark before has been settled.
  void Mark() { marked_ = std::exchange(since_, {.known = true}); }
  // Those before the mark; nothing where they are not known.
  const Keys& marked() const { return marked_.keys; }
  // The copy is safe; or it has come to nothing, and the next one must erase what this one had to
  // erase as well, as far as is_gone(key) still. There is no mark any more.
  template <typename IsGone>
  void Settle(bool safe, size_t rows, const IsGone& is_gone) {
    const Erased before = std::exchange(marked_, {});
    if (safe) return;
    if (!before.known) since_ = {};
    for (uint64_t key : before.keys) {
      if (is_gone(key)) Add(key, rows);
    }
  }

 private:
  struct Erased {
    bool known = false;  // Else `keys` is empty.
    Keys keys;
  };

  const size_t least_;
  Erased since_;
  Erased marked_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ERASED_KEYS_H_
