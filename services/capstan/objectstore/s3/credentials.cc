#include "capstan/objectstore/s3/credentials.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr absl::Duration kRenewAhead = absl::Minutes(5);
constexpr absl::Duration kTooLate = absl::Seconds(30);  // Because a request takes time as well.
constexpr absl::Duration kMostWait = absl::Seconds(30);
constexpr absl::Duration kLookForCancel = absl::Milliseconds(100);
constexpr absl::Duration kKeysAreReadEvery = absl::Seconds(10);

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StripAsciiWhitespace(&text);
  return text;
}

}  // namespace

bool S3CredentialsCache::Good(absl::Duration ahead) const {
  return now_() + ahead < current_.expires;
}

absl::StatusOr<S3CredentialsCache::Step> S3CredentialsCache::Decide() {
  const auto nobody_fetches = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !fetching_; };
  if (Good(kRenewAhead)) return Step::kUse;
  if (!fetching_) return Step::kFetch;
  if (Good(kTooLate)) return Step::kUse;
  for (absl::Duration waited; !nobody_fetches(); waited += kLookForCancel) {
    if (cancelled_ != nullptr && *cancelled_) return absl::CancelledError("credentials");
    if (waited >= kMostWait) {
      return absl::UnavailableError("credentials: another thread still waits for them");
    }
    mu_.AwaitWithTimeout(absl::Condition(&nobody_fetches), kLookForCancel);
  }
  return Good(kTooLate) ? Step::kUse : Step::kFetch;
}

absl::StatusOr<S3Credentials> S3CredentialsCache::Get() {
  {
    absl::MutexLock lock(&mu_);
    CAPSTAN_ASSIGN_OR_RETURN(const Step step, Decide());
    if (step == Step::kUse) return current_;
    fetching_ = true;
  }
  absl::StatusOr<S3Credentials> fetched = fetch_();
  absl::MutexLock lock(&mu_);
  fetching_ = false;
  if (fetched.ok()) current_ = *fetched;
  if (!fetched.ok() && Good(kTooLate)) return current_;
  return fetched;
}

void S3CredentialsCache::Refuse(const S3Credentials& credentials) {
  absl::MutexLock lock(&mu_);
  if (current_.access_key == credentials.access_key &&
      current_.session_token == credentials.session_token) {
    current_.expires = absl::InfinitePast();
  }
}

absl::StatusOr<absl::Time> ParseExpiration(std::string_view text) {
  absl::Time time;
  std::string why;
  if (absl::ParseTime(absl::RFC3339_full, absl::string_view(text.data(), text.size()), &time,
                      &why)) {
    return time;
  }
  return absl::DataLossError("credentials: the expiration is no time");
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  std::string token = TextOf(path);
  if (!token.empty()) return token;
  return absl::FailedPreconditionError(absl::StrCat(path, ": no token can be read from it"));
}

// Kubernetes replaces all files of a Secret at once, by pointing a link to another folder.
// Resolving the link once makes sure that all files are read from the same folder.
absl::StatusOr<S3Credentials> ReadKeys(const S3Options& options, absl::Time now) {
  const std::filesystem::path named =
      std::filesystem::path(options.keys_folder) / "AWS_ACCESS_KEY_ID";
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(named, error).parent_path();
  S3Credentials keys{.access_key = TextOf(folder / "AWS_ACCESS_KEY_ID"),
                     .secret_key = TextOf(folder / "AWS_SECRET_ACCESS_KEY"),
                     .session_token = TextOf(folder / "AWS_SESSION_TOKEN"),
                     .expires = now + kRenewAhead + kKeysAreReadEvery};
  if (!error && !keys.access_key.empty() && !keys.secret_key.empty()) return keys;
  return absl::UnauthenticatedError(absl::StrCat(
      "S3: ", options.keys_folder,
      ": expected the files AWS_ACCESS_KEY_ID and "
      "AWS_SECRET_ACCESS_KEY; on Kubernetes, the keys of the Secret of s3.existingSecret"));
}

absl::StatusOr<std::unique_ptr<S3CredentialsCache>> MakeCredentials(
    const S3Options& options, Http& http, WallClock now, const std::atomic<bool>* cancelled) {
  FetchCredentials fetch;
  if (!options.keys_folder.empty()) {
    fetch = [options, now] { return ReadKeys(options, now()); };
  } else if (!options.access_key.empty() && !options.secret_key.empty()) {
    fetch = [fixed = S3Credentials{.access_key = options.access_key,
                                   .secret_key = options.secret_key,
                                   .session_token = options.session_token}] { return fixed; };
  } else if (!options.role_arn.empty() && !options.web_identity_token_file.empty()) {
    fetch = [options, &http, cancelled] { return FetchWebIdentity(options, http, cancelled); };
  } else if (!options.container_credentials_uri.empty()) {
    fetch = [options, &http, cancelled] {
      return FetchContainerCredentials(options, http, cancelled);
    };
  } else {
    return absl::FailedPreconditionError(
        "S3: no credentials; set CAPSTAN_S3_KEYS, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
        "AWS_ROLE_ARN and "
        "AWS_WEB_IDENTITY_TOKEN_FILE, or AWS_CONTAINER_CREDENTIALS_FULL_URI");
  }
  return std::make_unique<S3CredentialsCache>(std::move(fetch), std::move(now), cancelled);
}

}  // namespace capstan
