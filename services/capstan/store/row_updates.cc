#include "capstan/store/row_updates.h"

namespace capstan {
namespace {

constexpr uint32_t kLives = 255;

}  // namespace

void RowUpdates::Append() {
  life_ = life_ % kLives + 1;
  versions_.push_back(life_ << kUpdateBits);
}

void RowUpdates::Remove(uint32_t row) {
  versions_[row] = versions_.back();
  versions_.pop_back();
}

uint64_t UpdatesSince(RowVersion pulled, RowVersion now) {
  const auto before = static_cast<uint32_t>(pulled);
  const auto after = static_cast<uint32_t>(now);
  constexpr uint32_t kHalf = (RowUpdates::kUpdates + 1) / 2;
  const uint32_t between = (after - before) & RowUpdates::kUpdates;
  if (before >> RowUpdates::kUpdateBits == after >> RowUpdates::kUpdateBits && between < kHalf) {
    return between;
  }
  return (after & RowUpdates::kUpdates) + (pulled == RowVersion::kNoRow ? 0 : 1);
}

}  // namespace capstan
