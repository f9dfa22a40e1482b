// What an error answer of S3 means: a status, and what could help against it.
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
  kRetry,           // The server or the network is at fault: try again.
  kNewCredentials,  // The credentials have expired, or have been replaced.
  kCorrectClock,    // The clocks of this machine and the server differ too much.
};

struct S3Failure {
  absl::Status status;
  Remedy remedy = Remedy::kNone;
  absl::Duration retry_after = absl::ZeroDuration();  // As the server asks.
};

// Makes a status from an error answer, by its HTTP status and the <Error> in its body. The message
// begins with `what`, and holds S3's code and message.
//
//   NOT_FOUND no such object, by S3's own code   ABORTED a condition does not hold   OUT_OF_RANGE
//   PERMISSION_DENIED   UNAUTHENTICATED   FAILED_PRECONDITION no such bucket, or it is elsewhere
//   RESOURCE_EXHAUSTED the store is full   UNIMPLEMENTED   UNAVAILABLE with kRetry
//   INVALID_ARGUMENT the rest
S3Failure ReadFailure(const HttpResponse& response, std::string_view what);

// Makes the same of an answer to HEAD, which has no body that would say why. A refusal (400 or 403)
// is taken for one of the clock if the answer's Date is far from `now`, the time by which requests
// are signed, and for one of the credentials otherwise. 404 is NOT_FOUND, whoever has said so.
S3Failure ReadHeadFailure(const HttpResponse& response, std::string_view what, absl::Time now);

// Returns whether an answer with status 200 holds an <Error>, as answers of slow operations may.
bool HoldsError(const HttpResponse& response);

// Reads a date such as "Sun, 06 Nov 1994 08:49:37 GMT". Returns InfinitePast if it is no date.
absl::Time ParseHttpDate(std::string_view text);

// Returns how long to wait before attempt n + 1, n >= 1: `unit`, in [0, 1), picks a time from the
// whole range ("full jitter"), so that clients that failed together do not come back together.
absl::Duration RetryPause(const S3Options& options, int n, double unit, absl::Duration retry_after);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_ANSWER_H_
