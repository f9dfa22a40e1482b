// Credentials for S3: given keys, or temporary ones that are fetched and renewed.
#ifndef CAPSTAN_OBJECTSTORE_S3_CREDENTIALS_H_
#define CAPSTAN_OBJECTSTORE_S3_CREDENTIALS_H_

#include <atomic>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/http/http.h"
#include "capstan/objectstore/s3/options.h"
#include "capstan/objectstore/s3/sigv4.h"

namespace capstan {

using WallClock = std::function<absl::Time()>;
using FetchCredentials = std::function<absl::StatusOr<S3Credentials>()>;

// Keeps credentials until shortly before they expire. Then one caller fetches new ones; meanwhile
// the other callers use the old ones if these are still valid, and otherwise wait. Thread-safe.
class S3CredentialsCache {
 public:
  // `cancelled`: once it is true, no caller waits any longer. May be null; must outlive the cache.
  S3CredentialsCache(FetchCredentials fetch, WallClock now,
                     const std::atomic<bool>* cancelled = nullptr)
      : fetch_(std::move(fetch)), now_(std::move(now)), cancelled_(cancelled) {}

  // Returns credentials that are valid now. If fetching fails, returns the old ones as long as they
  // are valid, and after that the error. CANCELLED: see the constructor.
  absl::StatusOr<S3Credentials> Get() ABSL_LOCKS_EXCLUDED(mu_);

  // The server has rejected these credentials: they will not be returned again.
  void Refuse(const S3Credentials& credentials) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  enum class Step { kUse, kFetch };
  absl::StatusOr<Step> Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Good(absl::Duration ahead) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const FetchCredentials fetch_;
  const WallClock now_;
  const std::atomic<bool>* const cancelled_;
  absl::Mutex mu_;
  S3Credentials current_ ABSL_GUARDED_BY(mu_) = {.expires = absl::InfinitePast()};
  bool fetching_ ABSL_GUARDED_BY(mu_) = false;
};

// Creates the source of the credentials that `options` name: a folder of keys (read again every few
// seconds), static keys, web identity (AssumeRoleWithWebIdentity; the token file is read again each
// time), or a container's. FAILED_PRECONDITION: they name none. `http` and `cancelled`, which may
// be null, must outlive the result.
absl::StatusOr<std::unique_ptr<S3CredentialsCache>> MakeCredentials(
    const S3Options& options, Http& http, WallClock now,
    const std::atomic<bool>* cancelled = nullptr);

// Fetch one of the two kinds of temporary credentials, without retries. UNAVAILABLE: worth a retry.
// No message contains a token or a key. `cancelled`: see HttpRequest.
absl::StatusOr<S3Credentials> FetchWebIdentity(const S3Options& options, Http& http,
                                               const std::atomic<bool>* cancelled = nullptr);
absl::StatusOr<S3Credentials> FetchContainerCredentials(
    const S3Options& options, Http& http, const std::atomic<bool>* cancelled = nullptr);

// Reads the keys in options.keys_folder, which count as valid for a few seconds after `now`.
// UNAUTHENTICATED: there are none.
absl::StatusOr<S3Credentials> ReadKeys(const S3Options& options, absl::Time now);

// Parses "2026-11-21T12:00:00Z". DATA_LOSS: it is not a time.
absl::StatusOr<absl::Time> ParseExpiration(std::string_view text);

// Returns the content of a token file without white space at its ends. FAILED_PRECONDITION: it
// cannot be read, or is empty.
absl::StatusOr<std::string> ReadToken(const std::string& path);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_CREDENTIALS_H_
