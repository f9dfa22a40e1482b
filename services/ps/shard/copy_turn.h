// Decides who may copy partitions: a store has room for one mark, so saves and moves take turns.
// The chief keeps them apart; if they meet nevertheless, the second one is refused.
#ifndef CAPSTAN_PS_SHARD_COPY_TURN_H_
#define CAPSTAN_PS_SHARD_COPY_TURN_H_

#include <atomic>

namespace capstan::ps {

// *Thread-safe*.
class CopyTurn {
 public:
  enum class Holder { kNobody, kSave, kMoves };

  // Begins the turn of `who`. Returns false if it is another's turn.
  bool Take(Holder who) {
    Holder held = Holder::kNobody;
    return holder_.compare_exchange_strong(held, who) || held == who;
  }
  // Ends the turn of `who`. Does nothing if it is another's turn.
  void Release(Holder who) { holder_.compare_exchange_strong(who, Holder::kNobody); }

 private:
  std::atomic<Holder> holder_{Holder::kNobody};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COPY_TURN_H_
