// Stands in for chief, ps and worker in tests of the command: takes their flags and behaves as the
// environment says. Which of them it is, its own file name says.
//
//   FAKE_CHIEF  a v1::GetStatusReply as text, which it serves from its second answer on (before,
//   the
//               job runs); it ends when the state is terminal, with FAKE_CHIEF_EXIT
//   FAKE_PS, FAKE_WORKER   "exit <code>": ends at once; "deaf": takes no SIGTERM
//   FAKE_TRACE  a file to which every process appends its name when it starts and when it is asked
//               to end

#include <google/protobuf/text_format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/ports_file.h"
#include "capstan/base/shutdown.h"
#include "capstan/v1/chief.grpc.pb.h"

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void Trace(const std::string& line) {
  // One small append is atomic, so lines of several processes do not mix.
  std::ofstream(Environment("FAKE_TRACE"), std::ios::app) << line + "\n" << std::flush;
}

class FakeChief final : public capstan::v1::Chief::Service {
 public:
  explicit FakeChief(const std::string& last) {
    if (!google::protobuf::TextFormat::ParseFromString(last, &last_)) std::abort();
  }

  grpc::Status GetStatus(grpc::ServerContext*, const capstan::v1::GetStatusRequest*,
                         capstan::v1::GetStatusReply* reply) override {
    if (answers_++ == 0) {
      reply->set_state(capstan::v1::JOB_STATE_RUNNING);
      return grpc::Status::OK;
    }
    *reply = last_;
    over_ = last_.state() == capstan::v1::JOB_STATE_COMPLETED ||
            last_.state() == capstan::v1::JOB_STATE_FAILED;
    return grpc::Status::OK;
  }

  bool over() const { return over_; }

 private:
  capstan::v1::GetStatusReply last_;
  std::atomic<int> answers_ = 0;
  std::atomic<bool> over_ = false;
};

int RunChief(const std::string& ports_file, const capstan::Shutdown& shutdown) {
  FakeChief chief(Environment("FAKE_CHIEF"));
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&chief);
  const auto server = builder.BuildAndStart();
  if (!capstan::WritePortsFile(ports_file, {.data = port}).ok()) return 1;
  while (!shutdown.WaitFor(absl::Milliseconds(20)) && !chief.over()) {
  }
  server->Shutdown(absl::ToChronoTime(absl::Now() + absl::Milliseconds(200)));
  return std::atoi(Environment("FAKE_CHIEF_EXIT").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = std::filesystem::path(argv[0]).filename();
  std::map<std::string, std::string> flags;
  std::string name = role;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--take-over") name += " --take-over";
    if (i + 1 == argc || !absl::StartsWith(argv[i], "--")) continue;
    if (std::string(argv[i]) == "--set") name += absl::StrCat(" ", argv[i + 1]);
    flags[argv[i]] = argv[i + 1];
  }
  if (role == "ps") name = absl::StrCat("ps-", flags["--index"]);
  if (role == "worker") name = flags["--name"];
  const capstan::Shutdown shutdown;  // Before the trace: who reads it may signal us.
  Trace(absl::StrCat("start ", name));

  const std::string behaviour = Environment(role == "ps" ? "FAKE_PS" : "FAKE_WORKER");
  if (role != "chief" && absl::StartsWith(behaviour, "exit ")) {
    std::fprintf(stderr, "%s cannot go on: the cause\n", name.c_str());
    return std::atoi(behaviour.c_str() + 5);
  }
  if (role == "chief") return RunChief(flags["--ports-file"], shutdown);
  shutdown.WaitFor(absl::Minutes(2));
  Trace(absl::StrCat("stop ", name));
  if (behaviour == "deaf") absl::SleepFor(absl::Minutes(2));
  return 0;
}
