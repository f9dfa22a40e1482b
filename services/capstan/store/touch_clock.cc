#include "capstan/store/touch_clock.h"

#include <algorithm>
#include <bit>

namespace capstan {
namespace {

// The base moves by half of what 32 bits can hold.
constexpr uint64_t kStep = uint64_t{1} << 31;

// Returns small units for a short expiry and large ones for a long expiry.
int ShiftFor(uint64_t expiry_examples) {
  // An expiry is at least 2^19 units long, or counted in single examples.
  constexpr int kStepBits = 20;
  constexpr int kWithoutExpiry = 10;
  if (expiry_examples == 0) return kWithoutExpiry;
  return std::max(0, static_cast<int>(std::bit_width(expiry_examples)) - kStepBits);
}

uint64_t Less(uint64_t a, uint64_t b) { return a - std::min(a, b); }

}  // namespace

TouchClock::TouchClock(uint64_t expiry_examples)
    : shift_(ShiftFor(expiry_examples)), expiry_(expiry_examples >> shift_) {}

uint32_t TouchClock::TimeAt(uint64_t examples) const {
  return static_cast<uint32_t>(std::min<uint64_t>(Less(examples >> shift_, base_), UINT32_MAX));
}

uint64_t TouchClock::Advance(uint64_t examples) {
  const uint64_t now = Less(examples >> shift_, base_);
  if (expiry_ == 0 || now < kStep + kStep / 2) return 0;
  const uint64_t moved = (now - kStep / 2) / kStep * kStep;
  base_ += moved;
  return moved;
}

}  // namespace capstan
