// A service of gRPC that a test plays, on loopback.
#ifndef CAPSTAN_TESTS_UNIT_WORKER_SHELL_LOCAL_SERVICE_H_
#define CAPSTAN_TESTS_UNIT_WORKER_SHELL_LOCAL_SERVICE_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace capstan::worker {

// Answers until it is destroyed, which ends the calls under way.
class LocalService {
 public:
  // `service` must outlive it.
  explicit LocalService(grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_TESTS_UNIT_WORKER_SHELL_LOCAL_SERVICE_H_
