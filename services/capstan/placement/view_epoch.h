// Returns a view's epoch, for comparing views: the newer view has the greater epoch.
#ifndef CAPSTAN_PLACEMENT_VIEW_EPOCH_H_
#define CAPSTAN_PLACEMENT_VIEW_EPOCH_H_

#include "capstan/base/ids.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

[[nodiscard]] inline ViewEpoch EpochOf(const v1::View& view) {
  return {view.epoch().term(), view.epoch().n()};
}

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_VIEW_EPOCH_H_
