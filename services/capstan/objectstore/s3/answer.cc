#include "capstan/objectstore/s3/answer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/base/absl_view.h"
#include "capstan/objectstore/s3/xml.h"

namespace capstan {
namespace {

constexpr size_t kMostMessage = 300;
constexpr absl::Duration kMostRetryAfter = absl::Seconds(30);
// S3 itself allows fifteen minutes between the two clocks.
constexpr absl::Duration kClocksDiffer = absl::Minutes(5);

struct ErrorBody {
  std::string code;
  std::string message;
};

// S3's <Error>, or the <Error> within the <ErrorResponse> of the token service.
ErrorBody ReadErrorBody(const HttpResponse& response) {
  const absl::StatusOr<XmlElement> root = ParseXml(response.body);
  if (!root.ok()) return {};
  const XmlElement* error = root->name == "Error" ? &*root : root->Child("Error");
  if (error == nullptr) return {};
  std::string message(error->ChildText("Message").substr(0, kMostMessage));
  for (char& c : message) c = absl::ascii_isprint(c) ? c : ' ';
  return {std::string(error->ChildText("Code").substr(0, 100)), std::move(message)};
}

bool IsOneOf(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// The keys or the token are refused: their owner, or the token service, may have others by now.
bool RefusesCredentials(std::string_view code) {
  return IsOneOf(code,
                 {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken",
                  "InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException",
                  "SignatureDoesNotMatch", "InvalidIdentityToken", "IDPRejectedClaim"});
}

// The store itself says that there is no such object. A proxy in front of a store, such as an
// ingress that has lost its backend, answers 404 without such a code.
bool IsAbsence(std::string_view code) {
  return IsOneOf(code, {"NoSuchKey", "NoSuchUpload", "NoSuchVersion", "NotFound"});
}

absl::StatusCode CodeOf(int status, std::string_view code) {
  if (code == "NoSuchBucket") return absl::StatusCode::kFailedPrecondition;
  if (status != 403 && RefusesCredentials(code)) return absl::StatusCode::kUnauthenticated;
  if (code == "XMinioStorageFull" || code == "QuotaExceeded") {
    return absl::StatusCode::kResourceExhausted;
  }
  switch (status) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return IsAbsence(code) ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable;
    case 412:
      return absl::StatusCode::kAborted;
    case 416:
      return absl::StatusCode::kOutOfRange;
    case 501:
      return absl::StatusCode::kUnimplemented;
    case 507:
      return absl::StatusCode::kResourceExhausted;
    default:
      break;
  }
  if (status >= 300 && status < 400) return absl::StatusCode::kFailedPrecondition;
  if (status >= 500 || status == 429) return absl::StatusCode::kUnavailable;
  return absl::StatusCode::kInvalidArgument;
}

Remedy RemedyOf(int status, std::string_view code) {
  if (code == "RequestTimeTooSkewed") return Remedy::kCorrectClock;
  if (RefusesCredentials(code)) return Remedy::kNewCredentials;
  if (IsOneOf(code,
              {"SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "Throttling",
               "ThrottlingException", "OperationAborted", "ConditionalRequestConflict",
               "IncompleteBody", "BadDigest", "IDPCommunicationError"})) {
    return Remedy::kRetry;
  }
  const bool elsewhere = status == 404 && code != "NoSuchBucket" && !IsAbsence(code);
  const bool passing = elsewhere || status == 408 || status == 409 || status == 429 ||
                       (status >= 500 && status != 501 && status != 507);
  return passing ? Remedy::kRetry : Remedy::kNone;
}

// Returns a hint about the target of a redirect. It is not followed, because that would send the
// signature to another server.
std::string RedirectHint(const HttpResponse& response) {
  const std::string_view region = response.Header("x-amz-bucket-region");
  if (region.empty()) return "";
  return absl::StrCat("; the bucket is in region ", AbslView(region.substr(0, 40)),
                      ", set AWS_REGION");
}

}  // namespace

S3Failure ReadFailure(const HttpResponse& response, std::string_view what) {
  const ErrorBody error = ReadErrorBody(response);
  S3Failure failure;
  failure.remedy = RemedyOf(response.status, error.code);
  absl::StatusCode code = CodeOf(response.status, error.code);
  // Also if a response with status 200 contains the error, or if it is a temporary refusal.
  if (failure.remedy == Remedy::kRetry && code == absl::StatusCode::kInvalidArgument) {
    code = absl::StatusCode::kUnavailable;
  }
  failure.status = absl::Status(
      code, absl::StrCat(AbslView(what), ": HTTP ", response.status, error.code.empty() ? "" : " ",
                         error.code, error.message.empty() ? "" : ": ", error.message,
                         RedirectHint(response)));
  double seconds = 0;
  if (absl::SimpleAtod(AbslView(response.Header("retry-after")), &seconds) && seconds > 0) {
    failure.retry_after = std::min(absl::Seconds(seconds), kMostRetryAfter);
  }
  return failure;
}

S3Failure ReadHeadFailure(const HttpResponse& response, std::string_view what, absl::Time now) {
  S3Failure failure = ReadFailure(response, what);
  const auto is = [&](absl::StatusCode code, Remedy remedy) {
    failure.status = absl::Status(code, failure.status.message());
    failure.remedy = remedy;
  };
  if (response.status == 404) is(absl::StatusCode::kNotFound, Remedy::kNone);
  if (response.status != 400 && response.status != 403) return failure;
  const absl::Time theirs = ParseHttpDate(response.Header("date"));
  const bool differ =
      theirs != absl::InfinitePast() && absl::AbsDuration(theirs - now) > kClocksDiffer;
  is(response.status == 400 ? absl::StatusCode::kUnauthenticated
                            : absl::StatusCode::kPermissionDenied,
     differ ? Remedy::kCorrectClock : Remedy::kNewCredentials);
  return failure;
}

bool HoldsError(const HttpResponse& response) {
  const absl::StatusOr<XmlElement> root = ParseXml(response.body);
  return root.ok() && root->name == "Error";
}

absl::Time ParseHttpDate(std::string_view text) {
  absl::Time time;
  std::string why;
  return absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", AbslView(text), &time, &why)
             ? time
             : absl::InfinitePast();
}

absl::Duration RetryPause(const S3Options& options, int n, double unit,
                          absl::Duration retry_after) {
  const absl::Duration range =
      std::min(options.first_pause * std::ldexp(1.0, std::min(n - 1, 30)), options.most_pause);
  return std::max(range * unit, retry_after);
}

}  // namespace capstan
