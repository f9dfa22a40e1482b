#include "ps/partition/rejection.h"

#include <array>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/types/optional.h"

namespace capstan::ps {
namespace {

// The payload type of a status with the number of a Rejection, as a byte.
constexpr char kPayload[] = "capstan/reason";

// By Rejection. An entry without a label is empty, which the test of this table detects.
constexpr std::array<std::string_view, kRejections> kLabels = {
    "shape",     "nan",  "unknown",     "session",        "duplicate", "stale", "old_generation",
    "not_owner", "busy", "wrong_round", "outside_window", "memory",    "seal"};

}  // namespace

std::string_view LabelOf(Rejection reason) { return kLabels[static_cast<size_t>(reason)]; }

absl::Status WithReason(absl::Status status, Rejection reason) {
  status.SetPayload(kPayload, absl::Cord(std::string(1, static_cast<char>(reason))));
  return status;
}

Rejection ReasonOf(const absl::Status& status) {
  if (const absl::optional<absl::Cord> reason = status.GetPayload(kPayload)) {
    return static_cast<Rejection>((*reason)[0]);
  }
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return Rejection::kUnknown;
    case absl::StatusCode::kInvalidArgument:
      return Rejection::kShape;
    default:
      return Rejection::kSession;
  }
}

std::optional<Rejection> ReasonOf(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_SETTLED:
      return Rejection::kDuplicate;
    case v1::OUTCOME_DROPPED:
      return Rejection::kStale;
    case v1::OUTCOME_OLD_GENERATION:
      return Rejection::kOldGeneration;
    case v1::OUTCOME_NOT_OWNER:
      return Rejection::kNotOwner;
    case v1::OUTCOME_BUSY:
      return Rejection::kBusy;
    case v1::OUTCOME_WRONG_ROUND:
      return Rejection::kWrongRound;
    case v1::OUTCOME_OUTSIDE_WINDOW:
      return Rejection::kOutsideWindow;
    default:
      return std::nullopt;
  }
}

}  // namespace capstan::ps
