#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/http/http.h"
#include "capstan/http/http_server.h"

namespace capstan {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

HttpResponse Ask(const HttpServer& server, const std::string& method, const std::string& path,
                 const std::string& body = "") {
  const auto answer = NewCurlHttp({.allow_http = true})
                          ->Send({.method = method,
                                  .url = absl::StrCat("http://127.0.0.1:", server.port(), path),
                                  .body = body});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(HttpResponse());
}

std::unique_ptr<HttpServer> Start(HttpServer::Options options, HttpServer::Handler handler) {
  options.host = "127.0.0.1";
  auto server = HttpServer::Start(options, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(HttpServerTest, HandsOverWhatIsAskedAndSendsWhatIsAnswered) {
  HttpQuestion asked;
  const auto server = Start({}, [&asked](const HttpQuestion& question) {
    asked = question;
    return HttpAnswer{.status = 404, .body = "none", .content_type = "text/plain"};
  });
  const std::string body(300'000, 'b');
  const HttpResponse answer = Ask(*server, "POST", "/v2/models/a%20b/infer", body);
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "none");
  EXPECT_EQ(answer.Header("content-type"), "text/plain");
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.path, "/v2/models/a b/infer");
  EXPECT_EQ(asked.body, body);
  EXPECT_EQ(Ask(*server, "GET", "/").body, "none");
  EXPECT_EQ(asked.body, "");
}

TEST(HttpServerTest, RefusesABodyThatIsTooLargeAndGoesOn) {
  const auto server = Start({.most_body_bytes = 1000},
                            [](const HttpQuestion&) { return HttpAnswer{.body = "ok"}; });
  EXPECT_EQ(Ask(*server, "POST", "/", std::string(1001, 'b')).status, 413);
  EXPECT_EQ(Ask(*server, "POST", "/", std::string(1000, 'b')).body, "ok");
}

TEST(HttpServerTest, AnswersBeforeItEndsWhatHasBeenAsked) {
  absl::Notification asked, may_answer;
  const std::string large(4'000'000, 'a');
  auto server = Start({}, [&](const HttpQuestion&) {
    asked.Notify();
    may_answer.WaitForNotification();
    return HttpAnswer{.body = large};
  });
  std::thread asker([&server] { EXPECT_EQ(Ask(*server, "GET", "/").body.size(), 4'000'000u); });
  asked.WaitForNotification();
  std::thread answering([&may_answer] {
    absl::SleepFor(absl::Milliseconds(50));  // The server is about to end meanwhile.
    may_answer.Notify();
  });
  server.reset();
  asker.join();
  answering.join();
}

TEST(HttpServerTest, AnswersAsManyAtATimeAsItHasThreads) {
  constexpr int kThreads = 3;
  absl::Barrier met(kThreads);
  const auto server = Start({.threads = kThreads}, [&met](const HttpQuestion&) {
    met.Block();  // Until all are being answered.
    return HttpAnswer{.body = "ok"};
  });
  std::vector<std::thread> askers;
  for (int i = 0; i < kThreads; ++i) {
    askers.emplace_back([&server] { EXPECT_EQ(Ask(*server, "GET", "/").body, "ok"); });
  }
  for (std::thread& asker : askers) asker.join();
}

// A connection of one's own, which is kept from one request to the next.
class Connection {
 public:
  explicit Connection(const HttpServer& server) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;

  void Send(const std::string& text) const {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }

  // Ends what this side sends; answers can still be received.
  void EndSending() const { EXPECT_EQ(shutdown(fd_, SHUT_WR), 0); }

  // Returns all that has come, as soon as it holds this, or the server has closed.
  std::string ReceiveUntil(const std::string& expected) {
    while (received_.find(expected) == received_.npos && Receive()) {
    }
    return received_;
  }

  // Sends a request and returns its answer, whose body is "ok"; what has come of it, if it breaks.
  std::string Ask() {
    received_.clear();
    Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    return ReceiveUntil("\r\n\r\nok");
  }

  // Returns, when nothing more comes, whether that is as the server has closed.
  bool Closes() {
    while (Receive()) {
    }
    return last_ == 0;
  }

 private:
  bool Receive() {
    char piece[1000];
    last_ = read(fd_, piece, sizeof(piece));
    if (last_ > 0) received_.append(piece, static_cast<size_t>(last_));
    return last_ > 0;
  }

  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string received_;
  ssize_t last_ = 0;
};

TEST(HttpServerTest, AConnectionIsKeptUntilItBeginsToCloseAndThenToldSoWithItsNextAnswer) {
  const auto server = Start({}, [](const HttpQuestion&) { return HttpAnswer{.body = "ok"}; });
  Connection connection(*server);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(connection.Ask(), AllOf(HasSubstr("200"), Not(HasSubstr("Connection:"))));
  }
  server->BeginToClose();
  EXPECT_THAT(connection.Ask(), AllOf(HasSubstr("200"), HasSubstr("\r\nConnection: close\r\n")));
  EXPECT_TRUE(connection.Closes());
  EXPECT_THAT(Connection(*server).Ask(), HasSubstr("\r\nConnection: close\r\n"));
}

TEST(HttpServerTest, AConnectionWithoutARequestIsClosedAfterTheTimeThatItIsKeptForAndNotBefore) {
  const auto answer = [](const HttpQuestion&) { return HttpAnswer{.body = "ok"}; };
  const auto server = Start({.keep_alive = absl::Seconds(60)}, answer);
  Connection kept(*server);
  EXPECT_THAT(kept.Ask(), HasSubstr("200"));
  const auto hasty = Start({.keep_alive = absl::Milliseconds(200)}, answer);
  Connection closed(*hasty);
  EXPECT_THAT(closed.Ask(), HasSubstr("200"));
  EXPECT_TRUE(closed.Closes());
  absl::SleepFor(absl::Seconds(1));
  EXPECT_THAT(kept.Ask(), HasSubstr("200"));
}

TEST(HttpServerTest, AfterAHeadAloneTheNextAnswerBeginsWithItsOwn) {
  const auto server = Start({}, [](const HttpQuestion&) { return HttpAnswer{.body = "ok"}; });
  Connection connection(*server);
  connection.Send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(connection.ReceiveUntil("\r\n\r\nok"),
              AllOf(HasSubstr("\r\nContent-Length: 2\r\n\r\nHTTP/1.1 200"), EndsWith("ok")));
}

// As curl does with a body of more than a MiB: it would wait for a second.
TEST(HttpServerTest, TellsWhoWaitsForItThatItTakesTheBody) {
  const auto server =
      Start({}, [](const HttpQuestion& question) { return HttpAnswer{.body = question.body}; });
  Connection connection(*server);
  connection.Send(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_THAT(connection.ReceiveUntil(go_on), HasSubstr(go_on));
  connection.Send("body");
  EXPECT_THAT(connection.ReceiveUntil("\r\n\r\nbody"),
              AllOf(HasSubstr("HTTP/1.1 200"), HasSubstr("\r\n\r\nbody")));
}

TEST(HttpServerTest, ABodyThatIsCutShortIsNotHandledAndEndsItsConnection) {
  std::atomic<int> handled = 0;
  const auto server = Start({}, [&handled](const HttpQuestion&) {
    ++handled;
    return HttpAnswer{.body = "ok"};
  });
  for (const char* request : {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nbody",
                              "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "4\r\nbody\r\n"}) {
    Connection connection(*server);
    connection.Send(request);
    connection.EndSending();
    EXPECT_TRUE(connection.Closes());
    EXPECT_THAT(connection.ReceiveUntil("amid its body"),
                AllOf(HasSubstr("HTTP/1.1 400"), HasSubstr("\r\nConnection: close\r\n"),
                      HasSubstr("amid its body")));
  }
  EXPECT_EQ(handled, 0);
  Connection whole(*server);
  whole.Send(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\nbody\r\n0\r\n\r\n");
  EXPECT_THAT(whole.ReceiveUntil("\r\n\r\nok"), HasSubstr("HTTP/1.1 200"));
  EXPECT_EQ(handled, 1);
}

TEST(HttpServerTest, SaysThatItsPortIsTaken) {
  const auto server = Start({}, [](const HttpQuestion&) { return HttpAnswer(); });
  const auto second = HttpServer::Start({.host = "127.0.0.1", .port = server->port()},
                                        [](const HttpQuestion&) { return HttpAnswer(); });
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("cannot listen on 127.0.0.1:", server->port())));
}

}  // namespace
}  // namespace capstan
