// One HTTP exchange with a server elsewhere: an object store, the Kubernetes API, a /metrics page.
#ifndef CAPSTAN_HTTP_HTTP_H_
#define CAPSTAN_HTTP_HTTP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse {
  int status = 0;
  HttpHeaders headers = {};  // Names in lower case.
  std::string body = {};

  // The value of a header, or "".
  std::string_view Header(std::string_view name) const;
};

struct HttpRequest {
  std::string method;
  std::string url;  // Encoded; sent as it is.
  HttpHeaders headers = {};
  std::string_view body = {};  // Must live until the exchange is over.
  // For the whole exchange. Infinite: it may go on as long as bytes move.
  absl::Duration timeout = absl::Seconds(60);
  uint64_t most_body = uint64_t{4} << 20;  // A longer body of the answer is RESOURCE_EXHAUSTED.
  bool direct = false;                     // Use no proxy, whatever the environment says.
  const std::atomic<bool>* cancelled = nullptr;  // Once true, CANCELLED within about a second.
  // If the exchange fails, the part of the answer that had arrived is put here; null: it is
  // dropped.
  HttpResponse* partial = nullptr;
};

// Implementations are thread-safe.
class Http {
 public:
  virtual ~Http() = default;

  // Sends a request and returns the whole answer, whatever its status. Redirects are not followed.
  // UNAVAILABLE: there is no connection, or it broke before all announced bytes had arrived;
  // DEADLINE_EXCEEDED: not finished within the timeout; FAILED_PRECONDITION: the server's
  // certificate is not trusted. No error message holds a header, a body, or what follows "?" in the
  // address.
  virtual absl::StatusOr<HttpResponse> Send(const HttpRequest& request) = 0;
};

struct CurlOptions {
  bool allow_http = false;   // False: every address must begin with https://.
  std::string ca_file = {};  // File of trusted certificates (PEM); empty: those of the system.
  absl::Duration connect_timeout = absl::Seconds(5);
  // After so long without a byte the connection counts as broken.
  absl::Duration stall_timeout = absl::Seconds(20);
};

// Returns an Http over libcurl, which keeps connections and uses them again.
std::unique_ptr<Http> NewCurlHttp(const CurlOptions& options);

}  // namespace capstan

#endif  // CAPSTAN_HTTP_HTTP_H_
