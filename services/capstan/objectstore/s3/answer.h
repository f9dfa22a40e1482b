// Interprets error responses of S3: as a status, and what could help.
#ifndef CAPSTAN_OBJECTSTORE_S3_ANSWER_H_
#define CAPSTAN_OBJECTSTORE_S3_ANSWER_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/http/http.h"
#include "capstan/objectstore/s3/options.h"

namespace capstan {

enum class Remedy {
  kNone,
  kRetry,           // The server or the network is at fault: retry.
  kNewCredentials,  // The credentials have expired, or were replaced.
  kCorrectClock,    // The clocks of this machine and the server differ too much.
};

struct S3Failure {
  absl::Status status;
  Remedy remedy = Remedy::kNone;
  absl::Duration retry_after = absl::ZeroDuration();  // As requested by the server.
};

// Returns the status for an error response, by its HTTP status and the <Error> in its body. The
// message begins with `what`, and contains S3's code and message.
//
//   NOT_FOUND no such object, by S3's own code   ABORTED a condition does not hold   OUT_OF_RANGE
//   PERMISSION_DENIED   UNAUTHENTICATED   FAILED_PRECONDITION no such bucket, or it is elsewhere
//   RESOURCE_EXHAUSTED the store is full   UNIMPLEMENTED   UNAVAILABLE with kRetry
//   INVALID_ARGUMENT the rest
S3Failure ReadFailure(const HttpResponse& response, std::string_view what);

// The same for a response to HEAD, which has no body with the reason. A refusal (400 or 403) is
// attributed to the clock if the response's Date is far from `now`, the time used to sign requests,
// and to the credentials otherwise. 404 is NOT_FOUND, whichever server has sent it.
S3Failure ReadHeadFailure(const HttpResponse& response, std::string_view what, absl::Time now);

// Returns true if a response with status 200 contains an <Error>, as those of slow operations may.
bool HoldsError(const HttpResponse& response);

// Parses a date such as "Sun, 06 Nov 1994 08:49:37 GMT". Returns InfinitePast if it is not a date.
absl::Time ParseHttpDate(std::string_view text);

// Returns how long to wait before attempt n + 1, n >= 1. `unit`, in [0, 1), chooses a time from the
// whole range ("full jitter"), so that clients that failed together do not retry together.
absl::Duration RetryPause(const S3Options& options, int n, double unit, absl::Duration retry_after);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_ANSWER_H_
