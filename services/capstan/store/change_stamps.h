// Which rows have changed since which copy of a table: each row carries a stamp of two bits, which
// it is given when it changes.
//
// A mark (the moment of a copy) begins a new stamp, so that rows changed before and after it are
// told apart without touching any. When the copy is safe, its stamps are stale: rows that carry one
// are taken for clean, and are tidied when they are next looked at, before the stamp's next use.
#ifndef CAPSTAN_STORE_CHANGE_STAMPS_H_
#define CAPSTAN_STORE_CHANGE_STAMPS_H_

#include <cstdint>

#include "capstan/base/check.h"

namespace capstan {

// Thread-compatible.
class ChangeStamps {
 public:
  static constexpr uint32_t kClean = 0;
  static constexpr uint32_t kStamps = 3;  // 1 to 3.

  // Of rows that change now.
  uint32_t fresh() const { return fresh_; }
  // Whether a row of this stamp had changed before the mark, and after the last copy that is safe.
  bool Marked(uint32_t stamp) const { return (marked_ >> stamp & 1) != 0; }
  bool Stale(uint32_t stamp) const { return (stale_ >> stamp & 1) != 0; }
  // Whether it had changed after the last copy that is safe.
  bool Unsaved(uint32_t stamp) const { return ((changed_ | marked_) >> stamp & 1) != 0; }

  // False: all stamps are in use. Give each row Tidy() of its stamp, then call Tidied().
  bool CanMark() const { return FreeStamp() != kClean; }
  // REQUIRES: CanMark(); the mark before has been settled.
  void Mark() {
    CAPSTAN_CHECK(CanMark() && marked_ == 0);
    marked_ = changed_;
    fresh_ = FreeStamp();
    changed_ = 1u << fresh_;
  }
  // The copy is safe, or has come to nothing.
  void Settle(bool safe) {
    (safe ? stale_ : changed_) |= marked_;
    marked_ = 0;
  }

  uint32_t Tidy(uint32_t stamp) const { return (changed_ >> stamp & 1) != 0 ? 1 : kClean; }
  // REQUIRES: there is no mark.
  void Tidied() {
    stale_ = 0;
    fresh_ = 1;
    changed_ = 1u << fresh_;
  }
  // Every row with a stale stamp has been given kClean.
  void Cleaned() { stale_ = 0; }

 private:
  uint32_t FreeStamp() const {
    for (uint32_t stamp = 1; stamp <= kStamps; ++stamp) {
      if (((changed_ | marked_ | stale_) >> stamp & 1) == 0) return stamp;
    }
    return kClean;
  }

  // Sets of stamps, as bits.
  uint32_t fresh_ = 1;
  uint32_t changed_ = 1u << 1;  // Since the mark.
  uint32_t marked_ = 0;
  uint32_t stale_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_CHANGE_STAMPS_H_
