#include "capstan/objectstore/s3/s3_client.h"

#include <algorithm>
#include <cmath>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/digest.h"

namespace capstan {
namespace {

// Describes the call for messages, without the query, whose upload ids and tokens must not be
// revealed.
std::string Describe(const S3Call& call) {
  return absl::StrCat("S3 ", call.method, " ", call.key.empty() ? "bucket" : call.key);
}

constexpr absl::Duration kLineEvery = absl::Seconds(30);

// A larger body may take longer than the timeout of a request on a slow connection.
constexpr size_t kLargeBody = size_t{1} << 20;

// Returns true if a read can continue after the part of a broken response that has arrived.
bool CanBeResumed(const HttpResponse& partial) {
  return (partial.status == 200 || partial.status == 206) && !partial.body.empty() &&
         !partial.Header("etag").empty();
}

bool Passes(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Somebody else may fix it, and then nothing need be restarted.
bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status) ||
         absl::IsFailedPrecondition(status);
}

// Missing credentials say nothing about the requested object: it is neither missing nor damaged,
// and the request is not wrong.
absl::Status WithoutCredentials(const absl::Status& why) {
  const bool plain = Passes(why) || absl::IsPermissionDenied(why) || absl::IsCancelled(why);
  return plain ? why : absl::UnauthenticatedError(why.message());
}

}  // namespace

absl::StatusOr<std::unique_ptr<S3Client>> S3Client::Create(const S3Options& options,
                                                           const std::string& bucket,
                                                           const S3World& world) {
  CAPSTAN_ASSIGN_OR_RETURN(S3Endpoint endpoint, FindEndpoint(options, bucket));
  std::unique_ptr<S3Client> client(new S3Client(options, std::move(endpoint), world));
  CAPSTAN_ASSIGN_OR_RETURN(client->credentials_,
                           MakeCredentials(options, world.http, world.now, &client->cancelled_));
  return client;
}

S3Result S3Client::Send(const S3Call& call) {
  absl::Time begin = world_.clock.Now();
  const bool large = call.body.size() > kLargeBody;
  bool repeated = false;
  bool new_credentials = false;
  bool corrected_clock = false;
  bool told = false;
  absl::Cleanup over = [&] {
    if (told) options_.on_trouble(absl::OkStatus());
  };
  for (int n = 1;; ++n) {
    if (cancelled_) return {absl::CancelledError(Describe(call)), repeated};
    const absl::Time begun = world_.clock.Now();
    const absl::Duration left = options_.deadline - (begun - begin);
    Attempt attempt =
        Try(call, large ? absl::InfiniteDuration() : std::min(left, options_.request_timeout));
    if (attempt.response.ok()) return {std::move(attempt.response), repeated};
    if (large) {
      const absl::Duration took = world_.clock.Now() - begun;
      begin += std::max(took - options_.request_timeout, absl::ZeroDuration());
    }

    const S3Failure& failure = attempt.failure;
    if (CanBeResumed(attempt.partial)) {
      return {failure.status, /*repeated=*/true, std::move(attempt.partial)};
    }
    const bool passes = failure.remedy == Remedy::kRetry;
    const bool at_once =
        (failure.remedy == Remedy::kNewCredentials && !std::exchange(new_credentials, true)) ||
        (failure.remedy == Remedy::kCorrectClock && !std::exchange(corrected_clock, true));
    const bool later = passes || (options_.outlasts_refusals && IsRefusal(failure.status));
    absl::Duration pause = absl::ZeroDuration();
    if (later && !at_once) pause = RetryPause(options_, n, world_.unit(), failure.retry_after);
    repeated = repeated || (passes && attempt.sent);
    const bool again = (at_once || later) && !call.once;
    const bool in_time = world_.clock.Now() - begin + pause < options_.deadline;
    if (!again || n >= options_.attempts || !in_time) {
      const absl::string_view tries = n > 1 ? " attempts)" : " attempt)";
      return {absl::Status(failure.status.code(),
                           absl::StrCat(failure.status.message(), " (", n, tries)),
              repeated};
    }
    if (n == 1) TellOfTrouble(failure.status);
    if (options_.on_trouble != nullptr) {
      told = true;
      options_.on_trouble(failure.status);
    }
    if (pause > absl::ZeroDuration()) world_.sleep(pause);
  }
}

// An unavailable store is retried for minutes, by many threads: one of them logs it at intervals.
void S3Client::TellOfTrouble(const absl::Status& why) {
  const int64_t now = absl::ToUnixMillis(world_.clock.Now());
  int64_t next = next_line_.load();
  if (now < next) return;
  if (!next_line_.compare_exchange_strong(next, now + absl::ToInt64Milliseconds(kLineEvery)))
    return;
  log::Warn("a request to the object store has failed and is tried again", {{"error", why}});
}

S3Client::Attempt S3Client::Try(const S3Call& call, absl::Duration timeout) {
  const absl::StatusOr<S3Credentials> credentials = credentials_->Get();
  if (!credentials.ok()) {
    const absl::Status why = WithoutCredentials(credentials.status());
    return {why, {why, Passes(why) ? Remedy::kRetry : Remedy::kNone}, /*sent=*/false};
  }
  HttpRequest request = Sign(call, *credentials);
  request.timeout = timeout;
  request.cancelled = &cancelled_;
  HttpResponse partial;
  if (call.keeps_partial) request.partial = &partial;
  absl::StatusOr<HttpResponse> response = world_.http.Send(request);
  if (!response.ok()) {
    const bool passes = Passes(response.status());
    if (!passes) partial = {};
    return {response.status(),
            {response.status(), passes ? Remedy::kRetry : Remedy::kNone},
            /*sent=*/true,
            std::move(partial)};
  }
  const bool success = response->status >= 200 && response->status < 300;
  if (success && !(call.xml_answer && HoldsError(*response))) return {std::move(response), {}};

  S3Failure failure = call.method == "HEAD"
                          ? ReadHeadFailure(*response, Describe(call), SigningClock())
                          : ReadFailure(*response, Describe(call));
  if (failure.remedy == Remedy::kCorrectClock) CorrectClock(*response);
  if (failure.remedy == Remedy::kNewCredentials) credentials_->Refuse(*credentials);
  return {failure.status, failure};
}

HttpRequest S3Client::Sign(const S3Call& call, const S3Credentials& credentials) const {
  const absl::Time now = SigningClock();
  SigningInput input{.method = call.method,
                     .path = endpoint_.base + UriEncode(call.key, Slash::kKeep),
                     .query = call.query,
                     .headers = call.headers,
                     .payload_sha256 = Hex(Sha256(call.body))};
  // "/bucket" and "/bucket/" are the same bucket.
  input.headers.emplace_back("host", endpoint_.host);
  input.headers.emplace_back("x-amz-content-sha256", input.payload_sha256);
  input.headers.emplace_back("x-amz-date", SigningTime(now));
  if (!credentials.session_token.empty()) {
    input.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  std::string authorization =
      Authorization(input, credentials, {.region = options_.region, .service = "s3", .time = now});
  const std::string query = CanonicalQuery(input.query);
  HttpRequest request{
      .method = call.method,
      .url = absl::StrCat(endpoint_.origin, input.path, query.empty() ? "" : "?", query),
      .headers = std::move(input.headers),
      .body = call.body,
      .most_body = call.most_body};
  request.headers.emplace_back("authorization", std::move(authorization));
  return request;
}

void S3Client::CorrectClock(const HttpResponse& response) {
  const absl::Time theirs = ParseHttpDate(response.Header("date"));
  if (theirs == absl::InfinitePast()) return;
  skew_seconds_ = absl::ToInt64Seconds(theirs - world_.now());
}

std::string S3Client::NewWriteId() const {
  std::string id;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppendFormat(&id, "%08x", static_cast<uint32_t>(std::ldexp(world_.unit(), 32)));
  }
  return id;
}

}  // namespace capstan
