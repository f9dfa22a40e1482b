#include "capstan/client/chunk_lifecycle.h"

namespace capstan {

std::optional<size_t> ChunkLifecycle::Next(size_t in_flight) {
  if (next_ == chunks_ || under_way_ >= in_flight) return std::nullopt;
  const bool last = next_ + 1 == chunks_;
  if (last && tells_clock_ && under_way_ > 0) return std::nullopt;
  ++under_way_;
  return next_++;
}

bool ChunkLifecycle::LastTellsClock() const { return tells_clock_ && settled_ && next_ == chunks_; }

void ChunkLifecycle::Answered(bool settled) {
  --under_way_;
  settled_ = settled_ && settled;
}

}  // namespace capstan
