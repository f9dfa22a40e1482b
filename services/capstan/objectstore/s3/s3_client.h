// Signed requests to one bucket, with retries.
#ifndef CAPSTAN_OBJECTSTORE_S3_S3_CLIENT_H_
#define CAPSTAN_OBJECTSTORE_S3_S3_CLIENT_H_

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/base/clock.h"
#include "capstan/http/http.h"
#include "capstan/objectstore/s3/answer.h"
#include "capstan/objectstore/s3/credentials.h"
#include "capstan/objectstore/s3/options.h"

namespace capstan {

// The environment of a client. `http` and `clock` must outlive it.
struct S3World {
  Http& http;
  const Clock& clock;  // For deadlines.
  WallClock now;       // For signatures.
  std::function<void(absl::Duration)> sleep;
  std::function<double()> unit;  // Random, in [0, 1). All three functions are thread-safe.
};

struct S3Call {
  std::string method;
  std::string key = {};  // Not encoded; empty: the bucket itself.
  std::vector<std::pair<std::string, std::string>> query = {};  // Not encoded.
  HttpHeaders headers = {};
  std::string_view body = {};
  uint64_t most_body = uint64_t{4} << 20;  // The largest allowed response body.
  bool xml_answer = false;                 // Also look for an <Error> in a response of status 200.
  // If a response breaks off, the caller gets the part that has arrived, and requests the rest. If
  // false, that part is dropped, and the whole response requested again.
  bool keeps_partial = false;
  bool once = false;  // Do not retry.
};

struct S3Result {
  // A response with status 2xx, or an error from ReadFailure or Http::Send.
  absl::StatusOr<HttpResponse> response;
  // An earlier attempt may have been carried out, although its response was lost or was a server
  // error. So the result of the last attempt may be a consequence of this client's own earlier one.
  bool repeated = false;
  // With keeps_partial, if the response is an error: the beginning of a good response, with its
  // ETag. Its body is empty if nothing has arrived.
  HttpResponse partial = {};
};

// Thread-safe.
class S3Client {
 public:
  // Creates a client of `bucket`. The errors are those of FindEndpoint and MakeCredentials.
  static absl::StatusOr<std::unique_ptr<S3Client>> Create(const S3Options& options,
                                                          const std::string& bucket,
                                                          const S3World& world);

  // Sends the call, and retries according to S3Options: temporary failures, once with new
  // credentials, and once with a corrected clock; with outlasts_refusals also refusals. A request
  // with a large body may take as long as bytes are transferred; the time that it takes beyond the
  // usual timeout does not count against the deadline. The first failure that is retried is logged,
  // at most twice a minute.
  S3Result Send(const S3Call& call);

  // Makes calls under way, and all later ones, fail with CANCELLED. The caller must interrupt
  // S3World::sleep itself.
  void Cancel() { cancelled_ = true; }

  const S3Options& options() const { return options_; }

  // 128 random bits as text.
  std::string NewWriteId() const;

 private:
  S3Client(const S3Options& options, S3Endpoint endpoint, const S3World& world)
      : options_(options), endpoint_(std::move(endpoint)), world_(world) {}

  struct Attempt {
    absl::StatusOr<HttpResponse> response;
    S3Failure failure;  // Set if the response is not a success.
    bool sent = true;
    HttpResponse partial = {};
  };
  Attempt Try(const S3Call& call, absl::Duration timeout);
  HttpRequest Sign(const S3Call& call, const S3Credentials& credentials) const;
  void TellOfTrouble(const absl::Status& why);
  absl::Time SigningClock() const { return world_.now() + absl::Seconds(skew_seconds_.load()); }
  void CorrectClock(const HttpResponse& response);

  const S3Options options_;
  const S3Endpoint endpoint_;
  const S3World world_;
  std::atomic<bool> cancelled_ = false;
  std::unique_ptr<S3CredentialsCache> credentials_;  // Set once, by Create.
  std::atomic<int64_t> skew_seconds_ = 0;            // The server's clock minus ours.
  // The time of the next log line, in milliseconds.
  std::atomic<int64_t> next_line_ = std::numeric_limits<int64_t>::min();
};

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_S3_CLIENT_H_
