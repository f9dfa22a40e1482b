// Who we are for S3: keys that are given, or temporary ones that are fetched and renewed.
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

// Keeps credentials until shortly before they expire. One caller fetches; meanwhile the others go
// on with those that are still good, or wait. Thread-safe.
class S3CredentialsCache {
 public:
  // `cancelled`: once true, nobody waits any longer; may be null, and must outlive the cache.
  S3CredentialsCache(FetchCredentials fetch, WallClock now,
                     const std::atomic<bool>* cancelled = nullptr)
      : fetch_(std::move(fetch)), now_(std::move(now)), cancelled_(cancelled) {}

  // Credentials that are good now. Where fetching fails, the old ones as long as they are good,
  // then the error. CANCELLED: see the constructor.
  absl::StatusOr<S3Credentials> Get() ABSL_LOCKS_EXCLUDED(mu_);

  // The server says that these are good no longer: they are not given out again.
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

// The credentials that `options` name: a folder of keys (read anew
// every few seconds), static keys, web identity (AssumeRoleWithWebIdentity; the
// token file is read anew each time), or a container's. FAILED_PRECONDITION if they name none.
// `http` and `cancelled`, which may be null, must outlive the result.
absl::StatusOr<std::unique_ptr<S3CredentialsCache>> MakeCredentials(
    const S3Options& options, Http& http, WallClock now,
    const std::atomic<bool>* cancelled = nullptr);

// How the two kinds of temporary credentials are fetched, once. UNAVAILABLE is worth a retry. No
// message holds a token or a key. `cancelled`: see HttpRequest.
absl::StatusOr<S3Credentials> FetchWebIdentity(const S3Options& options, Http& http,
                                               const std::atomic<bool>* cancelled = nullptr);
absl::StatusOr<S3Credentials> FetchContainerCredentials(
    const S3Options& options, Http& http, const std::atomic<bool>* cancelled = nullptr);

// The keys in options.keys_folder, good for a few seconds beyond `now`. UNAUTHENTICATED: there are
// none.
absl::StatusOr<S3Credentials> ReadKeys(const S3Options& options, absl::Time now);

// "2026-11-21T12:00:00Z". DATA_LOSS for what is no time.
absl::StatusOr<absl::Time> ParseExpiration(std::string_view text);

// The content of a token file without white space at its ends. FAILED_PRECONDITION if it cannot be
// read or is empty.
absl::StatusOr<std::string> ReadToken(const std::string& path);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_CREDENTIALS_H_
