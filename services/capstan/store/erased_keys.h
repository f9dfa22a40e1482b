// The keys whose rows a table has lost since its last safe copy. A later copy that holds changes
// alone must name these, so that they are erased from the earlier one; when they are not known, the
// later copy must be whole.
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

  // How many keys are remembered for any table; for a large table half as many as it has rows. With
  // more of them the next copy is better a whole one.
  static constexpr size_t kLeast = 4096;
  explicit ErasedKeys(size_t least = kLeast) : least_(least) {}

  // From now on erased keys are known. Before the first Track() or Mark() they are not.
  void Track() { since_ = {.known = true}; }
  // Returns whether all keys are known that have been erased since the mark; without a mark, since
  // the last safe copy.
  bool known() const { return since_.known; }

  // `key` has lost its row; the table has `rows` others. Forgets all keys if there are too many of
  // them.
  void Add(uint64_t key, size_t rows);
  // `key` has a row again.
  void Remove(uint64_t key) {
    if (!since_.keys.empty()) since_.keys.erase(key);
  }

  // Sets the mark: all keys so far were erased before it. REQUIRES: the mark before has been
  // settled.
  void Mark() { marked_ = std::exchange(since_, {.known = true}); }
  // The keys that were erased before the mark; empty if they are not known.
  const Keys& marked() const { return marked_.keys; }
  // Ends the mark. `safe`: the copy is safe. Otherwise it has come to nothing, and the next copy
  // must also name the keys of this one, except those for which is_gone(key) is false. `rows`: how
  // many rows the table has.
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
