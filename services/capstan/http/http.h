// One HTTP exchange with another server: an object store, the Kubernetes API, a /metrics page.
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

  // Returns the value of a header, or "".
  std::string_view Header(std::string_view name) const;
};

struct HttpRequest {
  std::string method;
  std::string url;  // Percent-encoded by the caller; sent as it is.
  HttpHeaders headers = {};
  std::string_view body = {};  // Must live until the exchange is over.
  // Timeout of the whole exchange. Infinite: it may take as long as bytes are transferred.
  absl::Duration timeout = absl::Seconds(60);
  uint64_t most_body = uint64_t{4} << 20;  // If the response body is longer: RESOURCE_EXHAUSTED.
  bool direct = false;                     // Use no proxy, whatever the environment says.
  const std::atomic<bool>* cancelled = nullptr;  // Once true, CANCELLED within about a second.
  // If not null: if the exchange fails, receives the part of the response that had arrived.
  HttpResponse* partial = nullptr;
};

// Implementations are thread-safe.
class Http {
 public:
  virtual ~Http() = default;

  // Sends a request and returns the whole response, whatever its status. Redirects are not
  // followed. UNAVAILABLE: there is no connection, or it broke before all announced bytes had
  // arrived; DEADLINE_EXCEEDED: not finished within the timeout; FAILED_PRECONDITION: the server's
  // certificate is not trusted. Error messages never contain headers, the body, or what follows "?"
  // in the url.
  virtual absl::StatusOr<HttpResponse> Send(const HttpRequest& request) = 0;
};

struct CurlOptions {
  bool allow_http = false;   // False: every address must begin with https://.
  std::string ca_file = {};  // File of trusted certificates (PEM); empty: the system's.
  absl::Duration connect_timeout = absl::Seconds(5);
  // The connection counts as broken after this long without a byte.
  absl::Duration stall_timeout = absl::Seconds(20);
};

// Returns an Http based on libcurl, which keeps connections and reuses them.
std::unique_ptr<Http> NewCurlHttp(const CurlOptions& options);

}  // namespace capstan

#endif  // CAPSTAN_HTTP_HTTP_H_
