// Which view others may hear of. One with another timeline, other owners, other moves, copies or
// backups of partitions or another incarnation of a shard is stored first; all others are published
// at once.
#ifndef CAPSTAN_CHIEF_STATE_VIEW_GATE_H_
#define CAPSTAN_CHIEF_STATE_VIEW_GATE_H_

#include <optional>
#include <string>

#include "capstan/v1/view.pb.h"
#include "chief/state/state_writer.h"

namespace capstan::chief {

// Thread-compatible.
class ViewGate {
 public:
  // `stored` is what the store holds already, or a view without owners.
  explicit ViewGate(const v1::View& stored);

  // The newest view.
  void Offer(const v1::View& view, StateWriter& writer);

  // The view to be published, once it may be.
  std::optional<v1::View> Take(const StateWriter& writer);

  // The last one taken; empty before the first.
  const v1::View& published() const { return published_; }

 private:
  std::string offered_;  // The part of the newest view that must be stored.
  StateWriter::Ticket ticket_ = 0;
  std::optional<v1::View> waiting_;
  v1::View published_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_VIEW_GATE_H_
