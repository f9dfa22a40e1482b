// Decides when the chief's state is written, and knows what of it is stored. One write at a time is
// under way; it holds the state as of its beginning. A ticket stands for the state at the time when
// it was given out: that is stored once a write that began later has succeeded. A write succeeds
// only while no other chief has written, so it also shows that this chief's term stood.
#ifndef CAPSTAN_CHIEF_STATE_STATE_WRITER_H_
#define CAPSTAN_CHIEF_STATE_STATE_WRITER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace capstan::chief {

// Thread-compatible.
class StateWriter {
 public:
  using Ticket = uint64_t;

  // If not `durable`, nothing is ever written, and everything counts as stored at once.
  explicit StateWriter(bool durable) : durable_(durable) {}

  // Require has the state of now written at once, Note within kLazily. Both return its ticket.
  Ticket Require() { return urgent_ = ++asked_; }
  Ticket Note() { return ++asked_; }

  bool IsStored(Ticket ticket) const { return !durable_ || ticket <= stored_; }
  // Returns true if the store has the state of every ticket given out.
  bool settled() const { return IsStored(asked_); }

  // Has the state written at once if the term was last known to stand longer than `age` ago, and no
  // urgent write is to come anyway.
  void Renew(absl::Time now, absl::Duration age);
  // The term stood at this time, or later: when the last write began that has succeeded. Without a
  // store it stands all the time.
  absl::Time stood_at(absl::Time now) const { return durable_ ? stood_at_ : now; }

  // Returns true if the state is to be written now; then the write counts as begun.
  bool TakeDue(absl::Time now);

  // The write under way has ended. ABORTED: another chief has written the state, and this one is
  // superseded().
  void OnStored(const absl::Status& status, absl::Time now);

  bool superseded() const { return superseded_; }
  const absl::Status& last() const {
    return last_;
  }  // How the last write ended; OK before the first.

  static constexpr absl::Duration kLazily = absl::Seconds(1);

 private:
  const bool durable_;
  Ticket asked_ = 0;
  Ticket urgent_ = 0;  // Tickets up to this one are to be stored at once.
  Ticket stored_ = 0;
  Ticket writing_ = 0;  // Tickets up to this one are in the write under way.
  bool under_way_ = false;
  bool superseded_ = false;
  int failures_ = 0;
  absl::Time begun_ = absl::InfinitePast();
  absl::Time stood_at_ = absl::InfinitePast();
  absl::Time again_ = absl::InfinitePast();  // No write before this time, after a failure.
  absl::Status last_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_STATE_WRITER_H_
