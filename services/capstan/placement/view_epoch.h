// The epoch of a view, by which views are compared: the newer view has the greater epoch. Moves and
// pairs are identified by the epoch of the view that created them.
#ifndef CAPSTAN_PLACEMENT_VIEW_EPOCH_H_
#define CAPSTAN_PLACEMENT_VIEW_EPOCH_H_

#include "capstan/base/ids.h"
#include "capstan/v1/common.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

[[nodiscard]] inline ViewEpoch ViewEpochFromProto(const v1::ViewEpoch& proto) {
  return {proto.term(), proto.n()};
}

inline void ToProto(ViewEpoch epoch, v1::ViewEpoch& proto) {
  proto.set_term(epoch.term);
  proto.set_n(epoch.n);
}

[[nodiscard]] inline ViewEpoch EpochOf(const v1::View& view) {
  return ViewEpochFromProto(view.epoch());
}

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_VIEW_EPOCH_H_
