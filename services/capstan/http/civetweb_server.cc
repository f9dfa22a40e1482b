#include <civetweb.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/cannot_listen.h"
#include "capstan/base/host_port.h"
#include "capstan/http/http_server.h"

namespace capstan {
namespace {

constexpr char kTooLarge[] = "{\"error\":\"the request is too large\"}";

class CivetwebServer : public HttpServer {
 public:
  CivetwebServer(const Options& options, Handler handler)
      : most_body_bytes_(options.most_body_bytes), handler_(std::move(handler)) {
    mg_init_library(MG_FEATURES_DEFAULT);
  }

  ~CivetwebServer() override {
    if (context_ != nullptr) mg_stop(context_);
    mg_exit_library();
  }
  CivetwebServer(const CivetwebServer&) = delete;

  // Returns whether it listens.
  bool Listen(const std::string& address, int threads) {
    const std::string count = absl::StrCat(threads);
    const char* settings[] = {"listening_ports",
                              address.c_str(),
                              "num_threads",
                              count.c_str(),
                              "request_timeout_ms",
                              "30000",
                              "enable_keep_alive",
                              "yes",
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

 private:
  // Answers the whole of a request: civetweb has nothing more to do with it.
  static int Begin(mg_connection* connection) {
    const mg_request_info& info = *mg_get_request_info(connection);
    auto& self = *static_cast<CivetwebServer*>(info.user_data);
    HttpQuestion question = {.method = info.request_method, .path = info.local_uri};
    const HttpAnswer answer = self.ReadBody(connection, question.body)
                                  ? self.handler_(question)
                                  : HttpAnswer{.status = 413, .body = kTooLarge};
    Send(answer, connection);
    return answer.status;
  }

  // Returns false, with a part of it, if the body is too large.
  bool ReadBody(mg_connection* connection, std::string& body) const {
    if (mg_get_request_info(connection)->content_length >
        static_cast<long long>(most_body_bytes_)) {
      return false;
    }
    char piece[1 << 14];
    for (;;) {
      const int read = mg_read(connection, piece, sizeof(piece));
      if (read <= 0) return true;
      body.append(piece, static_cast<size_t>(read));
      if (body.size() > most_body_bytes_) return false;
    }
  }

  static void Send(const HttpAnswer& answer, mg_connection* connection) {
    mg_response_header_start(connection, answer.status);
    mg_response_header_add(connection, "Content-Type", answer.content_type.c_str(), -1);
    mg_response_header_add(connection, "Content-Length", absl::StrCat(answer.body.size()).c_str(),
                           -1);
    mg_response_header_send(connection);
    mg_write(connection, answer.body.data(), answer.body.size());
  }

  const size_t most_body_bytes_;
  const Handler handler_;
  mg_context* context_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options,
                                                              Handler handler) {
  const std::string address = JoinHostPort(options.host, options.port);
  auto server = std::make_unique<CivetwebServer>(options, std::move(handler));
  if (!server->Listen(address, options.threads)) return CannotListen(address);
  return server;
}

}  // namespace capstan
