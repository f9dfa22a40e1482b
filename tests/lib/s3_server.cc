#include "tests/lib/s3_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/s3_client.h"

namespace capstan {
namespace {

std::string EnvironmentOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

absl::StatusOr<std::string> FindProgram() {
  const std::string named = EnvironmentOr("CAPSTAN_TEST_S3_SERVER", "");
  if (!named.empty()) return named;
  const std::string home =
      EnvironmentOr("CAPSTAN_KUBE_HOME", EnvironmentOr("HOME", "") + "/.cache/capstan-kube");
  glob_t found = {};
  const bool any = glob((home + "/bin-*/minio").c_str(), 0, nullptr, &found) == 0;
  std::string program = any ? found.gl_pathv[0] : "";
  globfree(&found);
  if (!program.empty()) return program;
  return absl::NotFoundError(
      "there is no S3 server on this machine: set CAPSTAN_TEST_S3_SERVER to a minio program");
}

// Returns a free port. The system gives it to nobody else while `socket` is open, but a server can
// listen on it: see tests/e2e/held_port.py.
int HoldFreePort(int& socket) {
  socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<S3Server>> S3Server::Start() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string program, FindProgram());
  auto server = std::unique_ptr<S3Server>(new S3Server());
  CAPSTAN_RETURN_IF_ERROR(server->Launch(program, HoldFreePort(server->port_)));
  CAPSTAN_RETURN_IF_ERROR(server->MakeBucket());
  return server;
}

absl::Status S3Server::Launch(const std::string& program, int port) {
  const std::string address = absl::StrCat("127.0.0.1:", port);
  options_ = {.endpoint = "http://" + address,
              .allow_http = true,
              .access_key = "capstan-test",
              .secret_key = "secret-of-capstan-test"};
  const std::string log = folder_.Path("log");
  const std::string data = folder_.Path("data");
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int output = open(log.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    setenv("MINIO_ROOT_USER", options_.access_key.c_str(), 1);
    setenv("MINIO_ROOT_PASSWORD", options_.secret_key.c_str(), 1);
    setenv("MINIO_UPDATE", "off", 1);
    setenv("MINIO_BROWSER", "off", 1);
    setenv("HOME", folder_.path().c_str(), 1);
    execl(program.c_str(), "minio", "server", "--quiet", "--anonymous", "--address",
          address.c_str(), data.c_str(), nullptr);
    _exit(127);
  }
  return process_ > 0 ? absl::OkStatus() : absl::InternalError("no process can be started");
}

// Also waits until the server answers; it asks for longer pauses than it needs.
absl::Status S3Server::MakeBucket() {
  const std::unique_ptr<Http> http = NewCurlHttp({.allow_http = true});
  const SteadyClock clock;
  S3Options once = options_;
  once.attempts = 1;
  const S3World world{
      .http = *http, .clock = clock, .now = absl::Now, .sleep = nullptr, .unit = [] {
        return 0.5;
      }};
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<S3Client> client,
                           S3Client::Create(once, "capstan", world));
  absl::Status made;
  for (const absl::Time begin = clock.Now(); clock.Now() - begin < absl::Seconds(30);) {
    made = client->Send({.method = "PUT"}).response.status();
    if (made.ok()) break;
    absl::SleepFor(absl::Milliseconds(50));
  }
  return made;
}

S3Server::~S3Server() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  if (port_ >= 0) close(port_);
}

void S3Server::Freeze() { kill(process_, SIGSTOP); }

void S3Server::Thaw() { kill(process_, SIGCONT); }

}  // namespace capstan
