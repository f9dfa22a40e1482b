// The keys whose rows a table has erased since its last stored copy. A later copy that contains
// only changes must list these, so that they are erased from the earlier one; if they are not
// known, the later copy must be complete.
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

  // How many keys are remembered for any table; for a large table it is half the number of its
  // rows. Beyond that, a complete copy is better.
  static constexpr size_t kLeast = 4096;
  explicit ErasedKeys(size_t least = kLeast) : least_(least) {}

  // From now on erased keys are recorded. Before the first Track() or Mark() they are not.
  void Track() { since_ = {.known = true}; }
  // Returns true if all keys are known that were erased since the mark; without a mark, since the
  // last stored copy.
  bool known() const { return since_.known; }

  // `key` was erased; the table has `rows` other rows. Forgets all keys if there are too many.
  void Add(uint64_t key, size_t rows);
  // `key` has a row again.
  void Remove(uint64_t key) {
    if (!since_.keys.empty()) since_.keys.erase(key);
  }

  // Sets the mark: all keys so far were erased before it. REQUIRES: the previous mark has been
  // settled.
  void Mark() { marked_ = std::exchange(since_, {.known = true}); }
  // The keys that were erased before the mark; empty if they are not known.
  const Keys& marked() const { return marked_.keys; }
  // Ends the mark. `safe`: the copy is stored. Otherwise it was abandoned, and the next copy must
  // also list the keys of this one, except those for which is_gone(key) is false. `rows`: how many
  // rows the table has.
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
    bool known = false;  // If false, `keys` is empty.
    Keys keys;
  };

  const size_t least_;
  Erased since_;
  Erased marked_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ERASED_KEYS_H_
