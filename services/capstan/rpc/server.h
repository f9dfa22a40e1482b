// Starts gRPC servers with the limits that are common to all services of Capstan.
#ifndef CAPSTAN_RPC_SERVER_H_
#define CAPSTAN_RPC_SERVER_H_

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/rpc/limits.h"
#include "capstan/rpc/listener.h"
#include "capstan/security/tls.h"

namespace capstan {

struct ServerOptions {
  std::string listen = "0.0.0.0:0";  // host:port; port 0: any free one.
  int max_streams_per_connection = kMaxStreamsPerConnection;
  int max_buffer_bytes = 1 << 30;  // Memory that gRPC may use for the messages of all connections.
  const Tls* tls = nullptr;        // Null: plaintext. Must outlive the server.
  // A connection whose handshake (TLS, then HTTP/2 settings) is not finished after this is closed.
  absl::Duration handshake_timeout = absl::Seconds(20);
  // A connection of this age (plus or minus a tenth) accepts no new calls, and ends when the calls
  // under way have ended, or after the grace. The client reconnects, and its certificate is checked
  // again.
  absl::Duration connection_age = absl::Hours(24);
  absl::Duration connection_grace = absl::Minutes(2);
};

// A server that listens. *Thread-safe*.
class Server {
 public:
  // Listens at once. Compressed messages are answered UNIMPLEMENTED. `services` must outlive the
  // server. UNAVAILABLE: the port is taken, or the address is not available.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       const std::vector<grpc::Service*>& services);
  // Calls Shutdown(0).
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The port that the server listens on.
  int port() const { return port_; }

  // Accepts no new calls, waits up to `drain` for the calls under way, then cancels these. Returns
  // when no handler is running any more. A second call does nothing.
  void Shutdown(absl::Duration drain);

 private:
  Server(std::unique_ptr<grpc::Server> server, std::unique_ptr<Listener> listener);

  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;  // Null after Shutdown.
  int port_;
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_SERVER_H_
