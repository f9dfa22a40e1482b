#include <civetweb.h>

#include <atomic>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/cannot_listen.h"
#include "capstan/base/host_port.h"
#include "capstan/http/http_server.h"

namespace capstan {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr absl::Duration kPatience =
    absl::Seconds(25);  // How long the destructor waits for answers.
constexpr char kEnding[] = "{\"error\":\"the server is about to end\"}";
constexpr char kTooLarge[] = "{\"error\":\"the request is too large\"}";
constexpr char kCutShort[] = "{\"error\":\"the request ended, or paused for long, amid its body\"}";

class CivetwebServer : public HttpServer {
 public:
  CivetwebServer(const Options& options, Handler handler)
      : most_body_bytes_(options.most_body_bytes), handler_(std::move(handler)) {
    mg_init_library(MG_FEATURES_DEFAULT);
  }

  // Waits for answers first, as civetweb sends nothing more once it is told to stop.
  ~CivetwebServer() override {
    if (context_ != nullptr) {
      AwaitAnswers();
      mg_stop(context_);
    }
    mg_exit_library();
  }
  CivetwebServer(const CivetwebServer&) = delete;

  // Returns true if it listens.
  bool Listen(const std::string& address, const Options& options) {
    const std::string count = absl::StrCat(options.threads);
    const std::string idle = absl::StrCat(absl::ToInt64Milliseconds(options.keep_alive));
    const char* settings[] = {"listening_ports",
                              address.c_str(),
                              "num_threads",
                              count.c_str(),
                              "request_timeout_ms",
                              "30000",
                              "enable_keep_alive",
                              "yes",
                              "keep_alive_timeout_ms",
                              idle.c_str(),
                              "tcp_nodelay",
                              "1",
                              nullptr};
    mg_callbacks callbacks = {};
    callbacks.begin_request = Begin;
    context_ = mg_start(&callbacks, this, settings);
    return context_ != nullptr;
  }

  int port() const override {
    mg_server_port port = {};
    return mg_get_server_ports(context_, 1, &port) == 1 ? port.port : 0;
  }

  void BeginToClose() override { closes_ = true; }

 private:
  // Answers a request completely, so that civetweb does nothing more with it.
  static int Begin(mg_connection* connection) {
    const mg_request_info& info = *mg_get_request_info(connection);
    auto& self = *static_cast<CivetwebServer*>(info.user_data);
    if (!self.Begun()) {
      self.Send({.status = 503, .body = kEnding}, self.closes_, connection);
      return 503;
    }
    const absl::Cleanup ended = [&self] { self.Ended(); };
    HttpQuestion question = {.method = info.request_method, .path = info.local_uri};
    const Body body = self.ReadBody(connection, question.body);
    const HttpAnswer answer = body == Body::kWhole ? self.handler_(question)
                              : body == Body::kTooLarge
                                  ? HttpAnswer{.status = 413, .body = kTooLarge}
                                  : HttpAnswer{.status = 400, .body = kCutShort};
    // What may still arrive of a body that was cut short must not be interpreted as the next
    // request.
    self.Send(answer, self.closes_ || body == Body::kCutShort, connection);
    return answer.status;
  }

  // Returns false if the server is about to stop.
  bool Begun() {
    absl::MutexLock lock(&mu_);
    if (!ending_) ++under_way_;
    return !ending_;
  }
  void Ended() {
    absl::MutexLock lock(&mu_);
    --under_way_;
  }
  void AwaitAnswers() {
    BeginToClose();
    absl::MutexLock lock(&mu_);
    ending_ = true;
    mu_.AwaitWithTimeout(absl::Condition(
                             +[](int* count) { return *count == 0; }, &under_way_),
                         kPatience);
  }

  enum class Body { kWhole, kTooLarge, kCutShort };

  // Reads the body; a part of it, if the result is not kWhole. kCutShort: the client has closed the
  // connection, or has sent nothing for civetweb's timeout, before the end of the body.
  Body ReadBody(mg_connection* connection, std::string& body) const {
    // Negative: the length is not given, and the last chunk or the head alone ends the request.
    const long long length = mg_get_request_info(connection)->content_length;
    if (length > static_cast<long long>(most_body_bytes_)) return Body::kTooLarge;
    // A client with a large body may ask first, and wait for this.
    if (mg_get_header(connection, "Expect") != nullptr) {
      mg_write(connection, kContinue.data(), kContinue.size());
    }
    char piece[1 << 14];
    for (;;) {
      const int read = mg_read(connection, piece, sizeof(piece));
      // Civetweb reports a client that pauses for too long as the end of the body.
      if (read < 0 || (read == 0 && std::ssize(body) < length)) return Body::kCutShort;
      if (read == 0) return Body::kWhole;
      body.append(piece, static_cast<size_t>(read));
      if (body.size() > most_body_bytes_) return Body::kTooLarge;
    }
  }

  // Writes the answer itself, because civetweb's own headers cannot follow a "100 Continue".
  // Connections are kept open by default; civetweb closes those whose clients request it, and those
  // for which keep-alive is disabled here, which is the case with `closes`.
  void Send(const HttpAnswer& answer, bool closes, mg_connection* connection) const {
    if (closes) mg_disable_connection_keep_alive(connection);
    const std::string head = absl::StrCat(
        "HTTP/1.1 ", answer.status, " ", mg_get_response_code_text(connection, answer.status),
        absl::FormatTime("\r\nDate: %a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()),
        "\r\nContent-Type: ", answer.content_type, "\r\nContent-Length: ", answer.body.size(),
        closes ? "\r\nConnection: close" : "", "\r\n\r\n");
    mg_write(connection, head.data(), head.size());
    // A client that requests only the head would interpret a body as the answer to its next
    // request.
    if (std::string_view(mg_get_request_info(connection)->request_method) == "HEAD") return;
    mg_write(connection, answer.body.data(), answer.body.size());
  }

  const size_t most_body_bytes_;
  const Handler handler_;
  mg_context* context_ = nullptr;
  std::atomic<bool> closes_ = false;
  absl::Mutex mu_;
  int under_way_ ABSL_GUARDED_BY(mu_) = 0;  // Requests being answered.
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              Handler handler) {
  const std::string address = JoinHostPort(options.host, options.port);
  auto server = std::make_unique<CivetwebServer>(options, std::move(handler));
  if (!server->Listen(address, options)) return CannotListen(address);
  return server;
}

}  // namespace capstan
