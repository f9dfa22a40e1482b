// When the chief's state is written, and what of it is stored. One write is under way at
// a time and holds the state as it is when it begins, so the newest wins. A ticket names the state
// as of now; it is stored once a write that began later has ended well.
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

  // Not `durable`: nothing is written, and everything counts as stored at once.
  explicit StateWriter(bool durable) : durable_(durable) {}

  // The state as of now: to be written at once, or within kLazily.
  Ticket Require() { return urgent_ = ++asked_; }
  Ticket Note() { return ++asked_; }

  bool IsStored(Ticket ticket) const { return !durable_ || ticket <= stored_; }
  // Everything that was asked for is stored.
  bool settled() const { return IsStored(asked_); }

  // True, and noted as begun, when the state is to be written now.
  bool TakeDue(absl::Time now);

  // The end of the write. ABORTED: the state is another chief's now.
  void OnStored(const absl::Status& status, absl::Time now);

  bool superseded() const { return superseded_; }
  const absl::Status& last() const {
    return last_;
  }  // What became of the last write; OK before the first.

  static constexpr absl::Duration kLazily = absl::Seconds(1);

 private:
  const bool durable_;
  Ticket asked_ = 0;
  Ticket urgent_ = 0;  // Tickets up to here do not wait.
  Ticket stored_ = 0;
  Ticket writing_ = 0;  // Covered by the write under way.
  bool under_way_ = false;
  bool superseded_ = false;
  int failures_ = 0;
  absl::Time begun_ = absl::InfinitePast();
  absl::Time again_ = absl::InfinitePast();  // After a failure.
  absl::Status last_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_STATE_WRITER_H_
