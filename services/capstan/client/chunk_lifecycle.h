// The order in which the calls of one request are sent, a few at a time. If a push has a clock,
// only its last call carries it, after all others have been answered: calls may overtake each
// other, and once a shard knows that a step is finished it lets other trainers get ahead of this
// one, so nothing of the step may still be under way.
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

  // Returns the next chunk to send, which counts as under way from then on; nullopt if an answer
  // has to come first, or all chunks were sent. At most `in_flight` are under way.
  std::optional<size_t> Next(size_t in_flight);

  // Returns true if the chunk that Next() returned last carries the clock.
  bool LastTellsClock() const;

  // A chunk has been answered. `settled`: nothing that was answered so far has to be sent again.
  // Once it is false, the step is not finished, and the request carries no clock.
  void Answered(bool settled);

  // A chunk has failed: Next() returns no more chunks.
  void Stop() { next_ = chunks_; }

 private:
  size_t chunks_;
  bool tells_clock_;
  size_t next_ = 0;
  size_t under_way_ = 0;
  bool settled_ = true;  // All chunks that were answered are settled.
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_CHUNK_LIFECYCLE_H_
