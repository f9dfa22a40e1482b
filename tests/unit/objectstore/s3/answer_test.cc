#include "capstan/objectstore/s3/answer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using absl::StatusCode;

HttpResponse Answer(int status, const std::string& code, HttpHeaders headers = {}) {
  return {.status = status,
          .headers = std::move(headers),
          .body = "<Error><Code>" + code + "</Code><Message>why\nso</Message></Error>"};
}

TEST(ReadFailureTest, KnowsWhatEachAnswerMeans) {
  const struct {
    int http;
    const char* code;
    StatusCode status;
    Remedy remedy;
  } kCases[] = {
      {400, "InvalidArgument", StatusCode::kInvalidArgument, Remedy::kNone},
      {400, "RequestTimeout", StatusCode::kUnavailable, Remedy::kRetry},
      {400, "ExpiredToken", StatusCode::kUnauthenticated, Remedy::kNewCredentials},
      {400, "InvalidToken", StatusCode::kUnauthenticated, Remedy::kNewCredentials},
      {400, "TokenRefreshRequired", StatusCode::kUnauthenticated, Remedy::kNewCredentials},
      {400, "InvalidIdentityToken", StatusCode::kUnauthenticated, Remedy::kNewCredentials},
      {401, "Unauthorized", StatusCode::kUnauthenticated, Remedy::kNone},
      {403, "AccessDenied", StatusCode::kPermissionDenied, Remedy::kNone},
      {403, "InvalidAccessKeyId", StatusCode::kPermissionDenied, Remedy::kNewCredentials},
      {403, "SignatureDoesNotMatch", StatusCode::kPermissionDenied, Remedy::kNewCredentials},
      {403, "InvalidToken", StatusCode::kPermissionDenied, Remedy::kNewCredentials},
      {403, "RequestTimeTooSkewed", StatusCode::kPermissionDenied, Remedy::kCorrectClock},
      {403, "ExpiredToken", StatusCode::kPermissionDenied, Remedy::kNewCredentials},
      {404, "NoSuchKey", StatusCode::kNotFound, Remedy::kNone},
      {404, "NoSuchUpload", StatusCode::kNotFound, Remedy::kNone},
      {404, "NoSuchVersion", StatusCode::kNotFound, Remedy::kNone},
      {404, "NoSuchRoute", StatusCode::kUnavailable, Remedy::kRetry},
      {404, "NoSuchBucket", StatusCode::kFailedPrecondition, Remedy::kNone},
      {409, "ConditionalRequestConflict", StatusCode::kUnavailable, Remedy::kRetry},
      {412, "PreconditionFailed", StatusCode::kAborted, Remedy::kNone},
      {416, "InvalidRange", StatusCode::kOutOfRange, Remedy::kNone},
      {429, "TooManyRequests", StatusCode::kUnavailable, Remedy::kRetry},
      {500, "InternalError", StatusCode::kUnavailable, Remedy::kRetry},
      {501, "NotImplemented", StatusCode::kUnimplemented, Remedy::kNone},
      {503, "SlowDown", StatusCode::kUnavailable, Remedy::kRetry},
      {507, "XMinioStorageFull", StatusCode::kResourceExhausted, Remedy::kNone},
      {200, "InternalError", StatusCode::kUnavailable, Remedy::kRetry},
  };
  for (const auto& c : kCases) {
    const S3Failure failure = ReadFailure(Answer(c.http, c.code), "S3 PUT a");
    EXPECT_EQ(failure.status.code(), c.status) << c.code;
    EXPECT_EQ(failure.remedy, c.remedy) << c.code;
    EXPECT_EQ(failure.status.message(),
              "S3 PUT a: HTTP " + std::to_string(c.http) + " " + c.code + ": why so");
  }
}

TEST(ReadFailureTest, DoesWithoutABody) {
  const S3Failure failure = ReadFailure({.status = 503, .body = "<html>busy"}, "S3 GET a");
  EXPECT_EQ(failure.status, absl::UnavailableError("S3 GET a: HTTP 503"));
  EXPECT_EQ(failure.remedy, Remedy::kRetry);
}

TEST(ReadFailureTest, TakesNobodysWordButTheStoresThatAnObjectIsAbsent) {
  const S3Failure failure =
      ReadFailure({.status = 404, .body = "default backend - 404"}, "S3 GET a");
  EXPECT_EQ(failure.status, absl::UnavailableError("S3 GET a: HTTP 404"));
  EXPECT_EQ(failure.remedy, Remedy::kRetry);
}

TEST(ReadHeadFailureTest, KnowsWhatAnAnswerWithoutABodyMayMean) {
  const absl::Time now = ParseHttpDate("Fri, 15 Jan 2027 08:00:00 GMT");
  const struct {
    int http;
    const char* date;
    StatusCode status;
    Remedy remedy;
  } kCases[] = {
      {400, "", StatusCode::kUnauthenticated, Remedy::kNewCredentials},
      {403, "", StatusCode::kPermissionDenied, Remedy::kNewCredentials},
      {403, "Fri, 15 Jan 2027 08:04:00 GMT", StatusCode::kPermissionDenied,
       Remedy::kNewCredentials},
      {403, "Fri, 15 Jan 2027 08:06:00 GMT", StatusCode::kPermissionDenied, Remedy::kCorrectClock},
      {403, "Fri, 15 Jan 2027 07:54:00 GMT", StatusCode::kPermissionDenied, Remedy::kCorrectClock},
      {400, "Fri, 15 Jan 2027 09:00:00 GMT", StatusCode::kUnauthenticated, Remedy::kCorrectClock},
      {404, "Fri, 15 Jan 2027 09:00:00 GMT", StatusCode::kNotFound, Remedy::kNone},
      {503, "Fri, 15 Jan 2027 09:00:00 GMT", StatusCode::kUnavailable, Remedy::kRetry},
      {301, "", StatusCode::kFailedPrecondition, Remedy::kNone},
  };
  for (const auto& c : kCases) {
    const S3Failure failure =
        ReadHeadFailure({.status = c.http, .headers = {{"date", c.date}}}, "S3 HEAD a", now);
    EXPECT_EQ(failure.status.code(), c.status) << c.http << " " << c.date;
    EXPECT_EQ(failure.remedy, c.remedy) << c.http << " " << c.date;
    EXPECT_EQ(failure.status.message(), "S3 HEAD a: HTTP " + std::to_string(c.http));
  }
}

TEST(ReadFailureTest, SaysWhereABucketIsAndDoesNotGoThere) {
  const S3Failure failure = ReadFailure(
      Answer(301, "PermanentRedirect", {{"x-amz-bucket-region", "eu-west-1"}}), "S3 GET a");
  EXPECT_TRUE(absl::IsFailedPrecondition(failure.status));
  EXPECT_EQ(failure.remedy, Remedy::kNone);
  EXPECT_THAT(std::string(failure.status.message()), testing::HasSubstr("eu-west-1"));
}

TEST(ReadFailureTest, TakesTheServersWishWithinReason) {
  const auto wish = [](const char* text) {
    return ReadFailure(Answer(503, "SlowDown", {{"retry-after", text}}), "x").retry_after;
  };
  EXPECT_EQ(wish("3"), absl::Seconds(3));
  EXPECT_EQ(wish("86400"), absl::Seconds(30));
  EXPECT_EQ(wish("-1"), absl::ZeroDuration());
  EXPECT_EQ(wish("soon"), absl::ZeroDuration());
}

TEST(HoldsErrorTest, SeesTheErrorInAnAnswerOfSuccess) {
  EXPECT_TRUE(HoldsError(Answer(200, "InternalError")));
  EXPECT_FALSE(HoldsError({.status = 200, .body = "<CompleteMultipartUploadResult/>"}));
  EXPECT_FALSE(HoldsError({.status = 200, .body = "<Error>"}));
}

TEST(ParseHttpDateTest, ReadsTheTimeOrSaysThatItIsNone) {
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), absl::FromUnixSeconds(784111777));
  EXPECT_EQ(ParseHttpDate("yesterday"), absl::InfinitePast());
}

TEST(RetryPauseTest, DrawsFromADoublingRangeUpToTheMost) {
  const S3Options options = {.first_pause = absl::Milliseconds(100),
                             .most_pause = absl::Seconds(2)};
  EXPECT_EQ(RetryPause(options, 1, 0.5, absl::ZeroDuration()), absl::Milliseconds(50));
  EXPECT_EQ(RetryPause(options, 3, 0.5, absl::ZeroDuration()), absl::Milliseconds(200));
  EXPECT_EQ(RetryPause(options, 1000, 0.5, absl::ZeroDuration()), absl::Seconds(1));
  EXPECT_EQ(RetryPause(options, 5, 0.0, absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_EQ(RetryPause(options, 1, 0.5, absl::Seconds(7)), absl::Seconds(7));
}

}  // namespace
}  // namespace capstan
