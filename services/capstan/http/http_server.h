// Answers HTTP requests on threads of its own, in plaintext.
#ifndef CAPSTAN_HTTP_HTTP_SERVER_H_
#define CAPSTAN_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan {

struct HttpQuestion {
  std::string method;  // "GET"
  std::string path;    // Decoded, beginning with the slash.
  std::string body;
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
};

// Serves until destroyed. The destructor waits at most 25 s for the requests under way to be
// answered. Thread-safe.
class HttpServer {
 public:
  struct Options {
    std::string host = "0.0.0.0";
    int port = 0;      // 0: any free port.
    int threads = 64;  // How many connections are served at the same time.
    // A connection is closed after this long without a request; until then it occupies one of the
    // threads.
    absl::Duration keep_alive = absl::Seconds(5);
    size_t most_body_bytes = size_t{16} << 20;  // A larger body is refused with 413.
  };
  // Called by several threads at once, and only with whole requests. A client that stops in the
  // middle of its body is answered with 400, and its connection is closed.
  using Handler = std::function<HttpAnswer(const HttpQuestion&)>;

  // UNAVAILABLE: it cannot listen.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options, Handler handler);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;

  // From now on each response closes its connection and says so. Clients then send their next
  // request elsewhere, so that none is lost when this server ends.
  virtual void BeginToClose() = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_HTTP_HTTP_SERVER_H_
