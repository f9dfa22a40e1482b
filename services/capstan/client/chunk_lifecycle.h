// The order in which the calls of one request go out: a few are under way at a time, and of a push
// that tells a clock only the last one tells it, after all others have been answered. Calls
// overtake each other; once a shard has heard that a step is finished it lets others run ahead of
// this trainer, so nothing of the step may still be on its way.
#ifndef CAPSTAN_CLIENT_CHUNK_LIFECYCLE_H_
#define CAPSTAN_CLIENT_CHUNK_LIFECYCLE_H_

#include <cstddef>
#include <optional>

namespace capstan {

// Thread-compatible.
class ChunkLifecycle {
 public:
  // `tells_clock`: the request tells the shard (ssp) that a step is finished.
  ChunkLifecycle(size_t chunks, bool tells_clock) : chunks_(chunks), tells_clock_(tells_clock) {}

  // The chunk to be sent now, which then is under way; none: an answer has to come first, or all
  // have been sent. At most `in_flight` are under way.
  std::optional<size_t> Next(size_t in_flight);

  // Returns whether the chunk that Next() gave last carries the clock.
  bool LastTellsClock() const;

  // A chunk has been answered. `settled`: no part of it, nor of those before it, has to come again.
  // Otherwise the step is not finished, and the request tells no clock.
  void Answered(bool settled);

  // Nothing more is sent: a chunk has failed.
  void Stop() { next_ = chunks_; }

 private:
  size_t chunks_;
  bool tells_clock_;
  size_t next_ = 0;
  size_t under_way_ = 0;
  bool settled_ = true;  // All that have been answered are.
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_CHUNK_LIFECYCLE_H_
