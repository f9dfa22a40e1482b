// Who copies partitions: a store has one mark, so saves and moves take turns. The chief sees to it
// that they do not meet; where they do, who comes second is refused.
#ifndef CAPSTAN_PS_SHARD_COPY_TURN_H_
#define CAPSTAN_PS_SHARD_COPY_TURN_H_

#include <atomic>

namespace capstan::ps {

// *Thread-safe*.
class CopyTurn {
 public:
  enum class Holder { kNobody, kSave, kMoves };

  // True: it is this one's turn now, or was already.
  bool Take(Holder who) {
    Holder held = Holder::kNobody;
    return holder_.compare_exchange_strong(held, who) || held == who;
  }
  // Nothing if it is another one's turn.
  void Release(Holder who) { holder_.compare_exchange_strong(who, Holder::kNobody); }

 private:
  std::atomic<Holder> holder_{Holder::kNobody};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COPY_TURN_H_
