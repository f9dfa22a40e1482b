#include "capstan/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "capstan/http/http.h"

namespace capstan {
namespace {

using testing::HasSubstr;

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
