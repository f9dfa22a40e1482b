// A view as its difference to an earlier one. A job has one view for all, of up to hundreds of
// kilobytes, and most views differ from the one before in little, such as a trainer that has come.
//
// Lists are compared by their places: what comes of a difference is the view itself, element by
// element and in the same order, whatever the lists hold.
#ifndef CAPSTAN_PLACEMENT_VIEW_DIFFERENCE_H_
#define CAPSTAN_PLACEMENT_VIEW_DIFFERENCE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// Returns what makes `after` of `before`. REQUIRES: neither is itself told by a difference.
[[nodiscard]] v1::ViewDifference DifferenceOf(const v1::View& before, const v1::View& after);

// Returns the view that `difference`, whoever it comes from, makes of `before`: a view of at most
// `most_bytes` as a message. FAILED_PRECONDITION: it is the difference to another view.
// INVALID_ARGUMENT: it leads to no newer view, or does not fit the lists of `before`.
// RESOURCE_EXHAUSTED: the view would be larger.
[[nodiscard]] absl::StatusOr<v1::View> ApplyDifference(const v1::View& before,
                                                       v1::ViewDifference difference,
                                                       size_t most_bytes);

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_VIEW_DIFFERENCE_H_
