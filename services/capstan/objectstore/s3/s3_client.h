// Signed requests to one bucket, sent until they are answered.
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

// The world around a client. `http` and `clock` must outlive it.
struct S3World {
  Http& http;
  const Clock& clock;  // For deadlines.
  WallClock now;       // For signatures.
  std::function<void(absl::Duration)> sleep;
  std::function<double()> unit;  // Random, in [0, 1). All three: thread-safe.
};

struct S3Call {
  std::string method;
  std::string key = {};  // Not encoded; empty: the bucket itself.
  std::vector<std::pair<std::string, std::string>> query = {};  // Not encoded.
  HttpHeaders headers = {};
  std::string_view body = {};
  uint64_t most_body = uint64_t{4} << 20;  // The answer has at most so many bytes.
  bool xml_answer = false;                 // An <Error> in an answer with status 200 counts.
  // What has come of an answer that broke is given to the caller, who asks for the rest; without
  // this it is dropped, and asked for again.
  bool keeps_partial = false;
  bool once = false;  // A failure is not tried again.
};

struct S3Result {
  // An answer with a status of the two hundreds, or what ReadFailure and Http::Send say.
  absl::StatusOr<HttpResponse> response;
  // An earlier attempt, whose answer did not come or was a server's error, may have been carried
  // out. What the last one says may then be a consequence of our own doing.
  bool repeated = false;
  // With keeps_partial, where the response is an error: the front of a good answer, with its ETag.
  // Without a body: nothing has come.
  HttpResponse partial = {};
};

// Thread-safe.
class S3Client {
 public:
  // Makes a client of `bucket`. Fails as FindEndpoint and MakeCredentials do.
  static absl::StatusOr<std::unique_ptr<S3Client>> Create(const S3Options& options,
                                                          const std::string& bucket,
                                                          const S3World& world);

  // Retries as S3Options say: failures that pass, once with new credentials, once with a corrected
  // clock; with outlasts_refusals also what is refused. A request whose body is large may take as
  // long as bytes move, and what it takes beyond the timeout of others does not count against the
  // deadline. The log tells of the first failure that is tried again, at most twice a minute.
  S3Result Send(const S3Call& call);

  // What is under way, and every later call, fails with CANCELLED. Pauses are the world's to end.
  void Cancel() { cancelled_ = true; }

  const S3Options& options() const { return options_; }

  // 128 random bits as text.
  std::string NewWriteId() const;

 private:
  S3Client(const S3Options& options, S3Endpoint endpoint, const S3World& world)
      : options_(options), endpoint_(std::move(endpoint)), world_(world) {}

  struct Attempt {
    absl::StatusOr<HttpResponse> response;
    S3Failure failure;  // If the response is none of success.
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
  std::atomic<int64_t> next_line_ = std::numeric_limits<int64_t>::min();  // Milliseconds.
};

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_S3_CLIENT_H_
