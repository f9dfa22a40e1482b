// Decides when a view may be published. A view that differs from the one before in its timeline, or
// in the owners, moves, copies or backups of partitions, or in the incarnation of a shard, has to
// be stored first. All others are published at once.
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
  // `stored` is the view that the store holds, or a view without owners if it holds none.
  explicit ViewGate(const v1::View& stored);

  // Takes in the newest view. If it has to be stored first, requests from `writer` that the state
  // is written at once.
  void Offer(const v1::View& view, StateWriter& writer);

  // Returns the newest view when it may be published, and only once; otherwise nullopt.
  std::optional<v1::View> Take(const StateWriter& writer);

  // The view that Take returned last; empty before the first.
  const v1::View& published() const { return published_; }

 private:
  std::string offered_;  // The part of the newest view that must be stored first.
  StateWriter::Ticket ticket_ = 0;
  std::optional<v1::View> waiting_;
  v1::View published_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_VIEW_GATE_H_
