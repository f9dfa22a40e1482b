// Mutual TLS on real connections over loopback.
#include "capstan/security/tls.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "tests/lib/test_authority.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

class AnsweringPs final : public v1::Ps::Service {
 public:
  grpc::Status Push(grpc::ServerContext*, const v1::PushRequest*, v1::PushReply*) override {
    return grpc::Status::OK;
  }
  grpc::Status LoadPartitions(grpc::ServerContext*, const v1::LoadPartitionsRequest*,
                              v1::LoadPartitionsReply*) override {
    return grpc::Status::OK;
  }
};

// A peer that begins to say hello and falls silent.
class HalfHandshake {
 public:
  HalfHandshake() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience = {.tv_sec = 30, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~HalfHandshake() { close(socket_); }
  HalfHandshake(const HalfHandshake&) = delete;
  HalfHandshake& operator=(const HalfHandshake&) = delete;

  bool Begin(int port) const {
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(static_cast<uint16_t>(port));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // A record of 512 bytes with a handshake is to follow.
    constexpr uint8_t kRecordHeader[] = {0x16, 0x03, 0x01, 0x02, 0x00};
    return connect(socket_, reinterpret_cast<sockaddr*>(&server), sizeof server) == 0 &&
           send(socket_, kRecordHeader, sizeof kRecordHeader, MSG_NOSIGNAL) ==
               ssize_t{sizeof kRecordHeader};
  }

  bool IsSentAway() const {
    char byte = 0;
    const ssize_t got = recv(socket_, &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

 private:
  const int socket_;
};

class TlsTest : public testing::Test {
 protected:
  // With a certificate of one name, of the authority of the job if of no other.
  std::unique_ptr<Tls> NewTls(const std::string& dns_name,
                              const TestAuthority* authority = nullptr) {
    const std::filesystem::path folder = root_ / absl::StrCat("folder-", folders_++);
    (authority == nullptr ? authority_ : *authority).Issue(folder, {.dns_names = {dns_name}});
    return std::make_unique<Tls>(*LoadTlsIdentity(folder.string(), absl::Now()), kRefresh);
  }

  // Listens from now on; the answer is the address.
  std::string Serve(const Tls* tls, absl::Duration handshake_timeout = absl::Seconds(20)) {
    server_ = *Server::Start(
        {.listen = "127.0.0.1:0", .tls = tls, .handshake_timeout = handshake_timeout}, {&service_});
    return absl::StrCat("127.0.0.1:", server_->port());
  }

  // `patient`: waits for a connection as long as it takes.
  static grpc::StatusCode Push(const Channel& channel, bool patient = false) {
    grpc::ClientContext context;
    context.set_wait_for_ready(patient);
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    v1::PushReply reply;
    return v1::Ps::NewStub(channel)->Push(&context, {}, &reply).error_code();
  }

  static constexpr absl::Duration kRefresh = absl::Seconds(1);
  const TestAuthority authority_;
  const TestFolder temporary_;
  const std::filesystem::path root_ = temporary_.path();
  int folders_ = 0;
  AnsweringPs service_;
  std::unique_ptr<Server> server_;
};

TEST(TlsOfNoFolderTest, IsPlaintext) {
  const absl::StatusOr<std::unique_ptr<const Tls>> tls = Tls::Load("");
  ASSERT_TRUE(tls.ok()) << tls.status();
  EXPECT_EQ(*tls, nullptr);
}

TEST_F(TlsTest, ARoleIsServedWhatItMayCall) {
  const auto ps = NewTls("ps.ctr.capstan");
  const auto worker = NewTls("worker.ctr.capstan");
  const std::string address = Serve(ps.get());
  const Channel channel = NewChannel(address, Role::kPs, worker.get());
  EXPECT_EQ(Push(channel), grpc::StatusCode::OK);
  grpc::ClientContext context;
  v1::LoadPartitionsReply reply;
  const grpc::Status order = v1::Ps::NewStub(channel)->LoadPartitions(&context, {}, &reply);
  EXPECT_EQ(order.error_code(), grpc::StatusCode::PERMISSION_DENIED) << order.error_message();
}

TEST_F(TlsTest, AnotherJobsWorkerIsRefused) {
  const auto ps = NewTls("ps.ctr.capstan");
  const auto stranger = NewTls("worker.other.capstan");
  EXPECT_EQ(Push(NewChannel(Serve(ps.get()), Role::kPs, stranger.get())),
            grpc::StatusCode::UNAVAILABLE)
      << "it expects ps.other.capstan itself";
}

TEST_F(TlsTest, AProcessThatPosesAsAnotherRoleIsNotBelieved) {
  const auto poser = NewTls("worker.ctr.capstan");
  const auto worker = NewTls("worker.ctr.capstan");
  EXPECT_EQ(Push(NewChannel(Serve(poser.get()), Role::kPs, worker.get())),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, AnotherAuthoritysCertificatesAreNotBelieved) {
  const TestAuthority other;
  const auto ps = NewTls("ps.ctr.capstan");
  const auto worker = NewTls("worker.ctr.capstan", &other);
  EXPECT_EQ(Push(NewChannel(Serve(ps.get()), Role::kPs, worker.get())),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, PlaintextAndTlsDoNotMeetAndTheServerLivesOn) {
  const auto ps = NewTls("ps.ctr.capstan");
  const auto worker = NewTls("worker.ctr.capstan");
  const std::string address = Serve(ps.get());
  EXPECT_EQ(Push(NewPlainChannel(address)), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Push(NewChannel(address, Role::kPs, worker.get())), grpc::StatusCode::OK);
  const std::string plain = Serve(nullptr);
  EXPECT_EQ(Push(NewChannel(plain, Role::kPs, worker.get())), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Push(NewPlainChannel(plain)), grpc::StatusCode::OK);
}

TEST_F(TlsTest, AThousandHandshakesLeftHalfDoneAreClosedAndAClientIsServedMeanwhile) {
  const auto ps = NewTls("ps.ctr.capstan");
  const auto worker = NewTls("worker.ctr.capstan");
  const std::string address = Serve(ps.get(), absl::Seconds(2));
  rlimit files{};  // Both ends of each connection are here.
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::vector<HalfHandshake> peers(1000);
  for (const HalfHandshake& peer : peers)
    ASSERT_TRUE(peer.Begin(server_->port())) << strerror(errno);
  EXPECT_EQ(Push(NewChannel(address, Role::kPs, worker.get()), /*patient=*/true),
            grpc::StatusCode::OK);
  for (const HalfHandshake& peer : peers) ASSERT_TRUE(peer.IsSentAway());
  EXPECT_EQ(Push(NewChannel(address, Role::kPs, worker.get()), /*patient=*/true),
            grpc::StatusCode::OK);
}

TEST_F(TlsTest, ARenewedAuthorityIsUsedWithoutARestart) {
  const auto ps = NewTls("ps.ctr.capstan");
  const auto worker = NewTls("worker.ctr.capstan");
  const std::string address = Serve(ps.get());
  const Channel before = NewChannel(address, Role::kPs, worker.get());
  EXPECT_EQ(Push(before), grpc::StatusCode::OK);
  const TestAuthority next;
  for (const Tls* tls : {ps.get(), worker.get()}) {
    const std::filesystem::path file = tls->identity().certificate_file;
    next.Issue(file.parent_path(), {.dns_names = {DnsNameOf(tls->identity().names.front())}});
  }
  // Both ends have read them when a client that trusts the next authority alone is served.
  const auto fresh = NewTls("worker.ctr.capstan", &next);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (Push(NewChannel(address, Role::kPs, fresh.get())) != grpc::StatusCode::OK) {
    ASSERT_LT(absl::Now(), deadline);
  }
  EXPECT_EQ(Push(before), grpc::StatusCode::OK) << "what stands, stands";
}

}  // namespace
}  // namespace capstan
