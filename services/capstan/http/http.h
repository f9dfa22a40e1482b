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
  std::string_view body = {};                    // Lives until the exchange is over.
  absl::Duration timeout = absl::Seconds(60);    // In all. Infinite: as long as bytes move.
  uint64_t most_body = uint64_t{4} << 20;        // A longer answer is RESOURCE_EXHAUSTED.
  bool direct = false;                           // Through no proxy, whatever the environment says.
  const std::atomic<bool>* cancelled = nullptr;  // Once true, CANCELLED within about a second.
  // Where an exchange that fails puts what had come of its answer; null: that is dropped.
  HttpResponse* partial = nullptr;
};

// Implementations are thread-safe.
class Http {
 public:
  virtual ~Http() = default;

  // Any answer that came whole, whatever its status; redirects are not followed. UNAVAILABLE: no
  // connection, or it broke before all announced bytes had come; DEADLINE_EXCEEDED: not within the
  // timeout; FAILED_PRECONDITION: the server's certificate is not trusted. No message holds a
  // header, a body, or what follows "?" in the address.
  virtual absl::StatusOr<HttpResponse> Send(const HttpRequest& request) = 0;
};

struct CurlOptions {
  bool allow_http = false;   // Else every address must begin with https://.
  std::string ca_file = {};  // Trusted certificates (PEM); empty: those of the system.
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration stall_timeout = absl::Seconds(20);  // Without any byte: broken.
};

// Over libcurl; connections are kept and used again.
std::unique_ptr<Http> NewCurlHttp(const CurlOptions& options);

}  // namespace capstan

#endif  // CAPSTAN_HTTP_HTTP_H_
