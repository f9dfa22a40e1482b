// A view as the difference to an earlier one. A job has one view for all, of up to hundreds of
// kilobytes, and most views differ little from the one before, such as by one trainer.
//
// Lists are compared by index: applying a difference yields exactly the later view, element by
// element and in the same order, whatever the lists contain.
#ifndef CAPSTAN_PLACEMENT_VIEW_DIFFERENCE_H_
#define CAPSTAN_PLACEMENT_VIEW_DIFFERENCE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// Returns the difference that turns `before` into `after`. REQUIRES: both are whole views.
[[nodiscard]] v1::ViewDifference DifferenceOf(const v1::View& before, const v1::View& after);

// Applies `difference`, which may come from an untrusted peer, to `before`, and returns the later
// view, of at most `most_bytes` as a message. FAILED_PRECONDITION: it is a difference to another
// view. INVALID_ARGUMENT: the result is not a newer view, or the difference does not fit the lists
// of `before`. RESOURCE_EXHAUSTED: the view would be larger.
[[nodiscard]] absl::StatusOr<v1::View> ApplyDifference(const v1::View& before,
                                                       v1::ViewDifference difference,
                                                       size_t most_bytes);

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_VIEW_DIFFERENCE_H_
