// A real S3 server (MinIO) as a process on loopback, for tests.
//
// The program is the one that the environment variable CAPSTAN_TEST_S3_SERVER names, or the one
// that the cluster of the end-to-end tests has built ($CAPSTAN_KUBE_HOME/bin-*/minio, by default in
// ~/.cache/capstan-kube).
#ifndef CAPSTAN_TESTS_LIB_S3_SERVER_H_
#define CAPSTAN_TESTS_LIB_S3_SERVER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/objectstore/s3/options.h"
#include "tests/lib/test_folder.h"

namespace capstan {

// The server's process and its folder, both of which the destructor removes. Thread-compatible.
class S3Server {
 public:
  // Starts a server with an empty bucket "capstan". NOT_FOUND: the program is not on this machine.
  static absl::StatusOr<std::unique_ptr<S3Server>> Start();
  ~S3Server();

  // The options with which a client reaches the server, with credentials.
  const S3Options& options() const { return options_; }

  void Freeze();  // SIGSTOP
  void Thaw();

 private:
  S3Server() = default;
  absl::Status Launch(const std::string& program, int port);
  absl::Status MakeBucket();

  const TestFolder folder_;
  int port_ = -1;  // The socket that holds the server's port.
  pid_t process_ = -1;
  S3Options options_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_S3_SERVER_H_
