// libcurl behind our interface, against a server that breaks every promise of HTTP.
#include <atomic>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/http/http.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/raw_server.h"

namespace capstan {
namespace {

using testing::HasSubstr;

std::string Ok(const std::string& body, const std::string& headers = "") {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n",
                      body);
}

absl::StatusOr<HttpResponse> Get(const RawServer& server, HttpRequest request = {}) {
  if (request.method.empty()) request.method = "GET";
  request.url = server.url() + "/path?secret=1";
  return NewCurlHttp({.allow_http = true})->Send(request);
}

// What the client makes of one answer.
absl::StatusOr<HttpResponse> GetOnce(const std::string& bytes, AfterAnswer then) {
  const RawServer server([&](int, const std::string&) { return RawAnswer{bytes, then}; });
  return Get(server);
}

TEST(CurlHttpTest, SendsAndReceives) {
  std::string received;
  const RawServer server([&](int, const std::string& request) {
    received = request;
    return RawAnswer{Ok("answer", "X-Some: Value \r\n"), AfterAnswer::kKeep};
  });
  const std::string body(300'000, 'b');
  const auto response =
      Get(server, {.method = "PUT", .headers = {{"X-Mine", "1"}, {"X-Empty", ""}}, .body = body});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "answer");
  EXPECT_EQ(response->Header("x-some"), "Value");
  EXPECT_EQ(response->Header("x-none"), "");
  EXPECT_THAT(received, testing::StartsWith("PUT /path?secret=1 HTTP/1.1\r\n"));
  EXPECT_THAT(received, HasSubstr("\r\nX-Mine: 1\r\n"));
  EXPECT_THAT(received, HasSubstr("\r\nX-Empty:\r\n"));
  EXPECT_TRUE(absl::EndsWith(received, body));
}

TEST(CurlHttpTest, UsesAConnectionAgain) {
  const RawServer server([&](int, const std::string&) {
    return RawAnswer{Ok("x"), AfterAnswer::kKeep};
  });
  const auto http = NewCurlHttp({.allow_http = true});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(http->Send({.method = "GET", .url = server.url()}).ok());
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(CurlHttpTest, SeesThatBytesAreMissing) {
  const std::string cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this";
  EXPECT_TRUE(absl::IsUnavailable(GetOnce(cut, AfterAnswer::kClose).status()));
  EXPECT_TRUE(absl::IsUnavailable(GetOnce(cut, AfterAnswer::kReset).status()));
  EXPECT_TRUE(absl::IsUnavailable(GetOnce("", AfterAnswer::kClose).status()));
  EXPECT_TRUE(
      absl::IsUnavailable(GetOnce("HTTP/1.1 200 OK\r\nConte", AfterAnswer::kReset).status()));
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n";
  EXPECT_TRUE(absl::IsUnavailable(GetOnce(chunked, AfterAnswer::kClose).status()));
}

TEST(CurlHttpTest, TakesWhatIsNoHttpForAFailure) {
  EXPECT_FALSE(GetOnce("SSH-2.0-OpenSSH\r\n", AfterAnswer::kClose).ok());
  EXPECT_FALSE(GetOnce(std::string(1000, '\0'), AfterAnswer::kClose).ok());
  EXPECT_FALSE(GetOnce("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", AfterAnswer::kClose).ok());
}

TEST(CurlHttpTest, BoundsBodyAndHead) {
  const RawServer server([&](int n, const std::string&) {
    if (n == 0) return RawAnswer{Ok(std::string(2000, 'x'))};
    return RawAnswer{Ok("", "X-Long: " + std::string(90'000, 'y') + "\r\n")};
  });
  EXPECT_TRUE(absl::IsResourceExhausted(Get(server, {.most_body = 1999}).status()));
  EXPECT_FALSE(Get(server).ok());
}

TEST(CurlHttpTest, FollowsNoRedirect) {
  const auto response = GetOnce(
      "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: "
      "0\r\n\r\n",
      AfterAnswer::kClose);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 307);
}

TEST(CurlHttpTest, WaitsNoLongerThanTheTimeout) {
  const RawServer server([&](int, const std::string&) {
    return RawAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", AfterAnswer::kStall};
  });
  const auto response = Get(server, {.timeout = absl::Milliseconds(100)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(response.status())) << response.status();
}

TEST(CurlHttpTest, EndsSoonWhenItIsCancelled) {
  std::atomic<bool> cancelled = false;
  const RawServer server([&](int, const std::string&) {
    cancelled = true;
    return RawAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", AfterAnswer::kStall};
  });
  EXPECT_TRUE(absl::IsCancelled(Get(server, {.cancelled = &cancelled}).status()));
}

TEST(CurlHttpTest, SaysWhereNobodyListensWithoutTheQuery) {
  std::string url;
  {
    const RawServer server([](int, const std::string&) { return RawAnswer{}; });
    url = server.url();
  }
  const absl::Status status = NewCurlHttp({.allow_http = true})
                                  ->Send({.method = "GET", .url = url + "/a?secret=1"})
                                  .status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(url + "/a: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Connection refused"));
  EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("secret")));
}

TEST(CurlHttpTest, SpeaksNoPlainHttpUnlessItIsAllowed) {
  std::atomic<int> asked = 0;
  const RawServer server([&](int, const std::string&) {
    ++asked;
    return RawAnswer{Ok("x")};
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(
      NewCurlHttp({})->Send({.method = "GET", .url = server.url()}).status()));
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(NewCurlHttp({.allow_http = true})
                   ->Send({.method = "GET", .url = "file:///etc/hostname"})
                   .ok());
}

}  // namespace
}  // namespace capstan
