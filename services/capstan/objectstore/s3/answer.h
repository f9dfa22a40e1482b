// What an answer of S3 means: a status, and what could be done about it.
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
  kRetry,           // The server or the way to it is at fault.
  kNewCredentials,  // They have expired, or have been replaced.
  kCorrectClock,    // Ours and the server's differ too much.
};

struct S3Failure {
  absl::Status status;
  Remedy remedy = Remedy::kNone;
  absl::Duration retry_after = absl::ZeroDuration();  // The server's wish.
};

// Makes a status of an answer that is an error, by its HTTP status and the <Error> in its body. The
// message begins with `what`, and holds S3's code and message.
//
//   NOT_FOUND no such object, by S3's own code   ABORTED a condition does not hold   OUT_OF_RANGE
//   PERMISSION_DENIED   UNAUTHENTICATED   FAILED_PRECONDITION no such bucket, or it is elsewhere
//   RESOURCE_EXHAUSTED the store is full   UNIMPLEMENTED   UNAVAILABLE with kRetry
//   INVALID_ARGUMENT the rest
S3Failure ReadFailure(const HttpResponse& response, std::string_view what);

// The same of an answer to HEAD, which has no body that would say why. A refusal (400 or 403) is
// laid to the clocks where the answer's Date is far from `now`, the time by which requests are
// signed, and to the credentials otherwise. NOT_FOUND for 404, whoever has said so.
S3Failure ReadHeadFailure(const HttpResponse& response, std::string_view what, absl::Time now);

// Returns whether an answer with status 200 holds an <Error> nevertheless, as those of slow
// operations may.
bool HoldsError(const HttpResponse& response);

// Reads a date such as "Sun, 06 Nov 1994 08:49:37 GMT". Returns InfinitePast for what is none.
absl::Time ParseHttpDate(std::string_view text);

// How long to wait before attempt n + 1, n >= 1: drawn by `unit` in [0, 1) from the whole range
// ("full jitter"), so that many who failed together do not come back together.
absl::Duration RetryPause(const S3Options& options, int n, double unit, absl::Duration retry_after);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_ANSWER_H_
