#include "chief/state/view_gate.h"

#include <utility>

namespace capstan::chief {
namespace {

std::string PartThatMustBeStored(const v1::View& view) {
  v1::View part;
  part.set_timeline(view.timeline());
  *part.mutable_owners() = view.owners();
  *part.mutable_moves() = view.moves();
  *part.mutable_copies() = view.copies();
  *part.mutable_pairs() = view.pairs();
  for (const v1::ShardInfo& shard : view.shards()) {
    v1::ShardInfo& info = *part.add_shards();
    info.set_index(shard.index());
    info.set_incarnation(shard.incarnation());
  }
  return part.SerializeAsString();
}

}  // namespace

ViewGate::ViewGate(const v1::View& stored) : offered_(PartThatMustBeStored(stored)) {}

void ViewGate::Offer(const v1::View& view, StateWriter& writer) {
  std::string part = PartThatMustBeStored(view);
  // A view without a map need not be stored: nothing can be done with it.
  if (part != offered_ && !view.owners().empty()) ticket_ = writer.Require();
  offered_ = std::move(part);
  waiting_ = view;
}

std::optional<v1::View> ViewGate::Take(const StateWriter& writer) {
  if (!waiting_ || !writer.IsStored(ticket_)) return std::nullopt;
  published_ = *std::exchange(waiting_, std::nullopt);
  return published_;
}

}  // namespace capstan::chief
