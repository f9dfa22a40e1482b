// The listening sockets of a server, and the thread that accepts from them.
//
// gRPC 1.51 stops accepting forever once accept() has failed because the process had no file
// descriptor left (CVE-2023-4785): its port is dead from then on, while the process looks healthy.
// So Capstan accepts connections itself and passes them to gRPC. A connection beyond what the
// process can hold is closed at once, so that descriptors remain for checkpoints, data files and
// calls to other processes. Once an earlier connection has ended, new ones are served again.
#ifndef CAPSTAN_RPC_LISTENER_H_
#define CAPSTAN_RPC_LISTENER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"

namespace capstan {

// *Thread-compatible*.
class Listener {
 public:
  // Binds `address` (host:port; port 0: any free one) and listens, but does not accept connections
  // yet. INVALID_ARGUMENT: `address` is not host:port. UNAVAILABLE, with the system's reason: the
  // process cannot listen there.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& address);
  // Stops accepting and closes the listening sockets. The server may live longer.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

  // Makes the server of `builder` take its connections from this listener. Must be called once,
  // before the server is built.
  void Attach(grpc::ServerBuilder& builder,
              const std::shared_ptr<grpc::ServerCredentials>& credentials);
  // Begins to accept, on a separate thread. Must be called once, after the server was started. That
  // thread calls `is_full`; while it returns true, connections wait to be accepted.
  void Start(std::function<bool()> is_full = [] { return false; });

 private:
  Listener() = default;
  // Returns 0 or an errno.
  int Listen(const std::string& host, int port);
  void Run();
  // Returns false if no further connection can be accepted now; must be called again later.
  bool AcceptFrom(int listening);

  std::vector<int> sockets_;
  int port_ = 0;
  int stop_ = -1;  // An eventfd that becomes readable when accepting should end.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::function<bool()> is_full_;
  std::thread thread_;
  SteadyClock clock_;
  log::RateLimit log_{clock_, absl::Seconds(5)};
  log::RateLimit nearly_full_log_{clock_, absl::Minutes(5)};
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_LISTENER_H_
