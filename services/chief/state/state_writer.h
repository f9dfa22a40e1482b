// Decides when the chief's state is written, and knows which state is stored. At most one write is
// under way; it holds the state as of its beginning. A ticket stands for the state at the time when
// the ticket was given out, and is stored once a write that began later has succeeded. A write
// succeeds only if no other chief has written, so a success also proves that this chief's term was
// still valid when the write began.
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

  // With `durable` false nothing is written, and every ticket counts as stored at once.
  explicit StateWriter(bool durable) : durable_(durable) {}

  // Require requests that the present state is written at once; Note, that it is written within
  // kLazily. Both return the ticket of the present state.
  Ticket Require() { return urgent_ = ++asked_; }
  Ticket Note() { return ++asked_; }

  bool IsStored(Ticket ticket) const { return !durable_ || ticket <= stored_; }
  // Returns true if every ticket that was given out is stored.
  bool settled() const { return IsStored(asked_); }

  // Requests a write at once if the last proof that the term is valid is older than `age`, unless
  // an urgent write is due anyway.
  void Renew(absl::Time now, absl::Duration age);
  // Returns a time at which the term was certainly valid: when the last successful write began.
  // Returns `now` if nothing is written.
  absl::Time stood_at(absl::Time now) const { return durable_ ? stood_at_ : now; }

  // Returns true if the state has to be written now; the caller must then begin the write.
  bool TakeDue(absl::Time now);

  // The write under way has ended. After ABORTED, which means that another chief has written the
  // state, superseded() is true.
  void OnStored(const absl::Status& status, absl::Time now);

  bool superseded() const { return superseded_; }
  // How the last write ended; OK before the first.
  const absl::Status& last() const { return last_; }

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
  absl::Time again_ = absl::InfinitePast();  // After a failure: no write before this time.
  absl::Status last_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_STATE_WRITER_H_
