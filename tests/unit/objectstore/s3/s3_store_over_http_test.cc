// The S3 store over real connections, with a server that delays and breaks off.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/raw_server.h"

namespace capstan {
namespace {

TEST(S3StoreOverHttpTest, EndsAPauseOfTheStoreWhenItIsCancelled) {
  absl::Notification asked;
  const RawServer server([&](int, const std::string&) {
    asked.Notify();
    return RawAnswer{"HTTP/1.1 503 Slow\r\nRetry-After: 25\r\nContent-Length: 0\r\n\r\n"};
  });
  const auto store = *OpenS3ObjectStore(
      {"ads", ""},
      {.endpoint = server.url(), .allow_http = true, .access_key = "id", .secret_key = "key"});
  const absl::Time begin = absl::Now();
  absl::Status status;
  std::thread reader([&] { status = store->Get("a").status(); });
  asked.WaitForNotification();
  store->Cancel();
  reader.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_TRUE(absl::IsCancelled(store->Put("a", "x")));
}

// An object of a server that answers ranges, which breaks off within each answer but the last.
class BreakingServer {
 public:
  BreakingServer(std::string content, size_t bytes_each, AfterAnswer then)
      : content_(std::move(content)),
        server_([this, bytes_each, then](int, const std::string& request) {
          const size_t range = request.find("range: bytes=");
          const size_t from =
              range == std::string::npos ? 0 : std::stoul(request.substr(range + 13));
          begins_.push_back(from);
          const std::string piece = content_.substr(from);
          std::string head =
              absl::StrCat("HTTP/1.1 ", from == 0 ? "200 OK" : "206 Partial Content",
                           "\r\nETag: \"1\"\r\nContent-Length: ", piece.size(), "\r\n");
          if (from > 0) {
            absl::StrAppend(&head, "Content-Range: bytes ", from, "-", content_.size() - 1, "/",
                            content_.size(), "\r\n");
          }
          const bool last = piece.size() <= bytes_each;
          return RawAnswer{absl::StrCat(head, "\r\n", piece.substr(0, bytes_each)),
                           last ? AfterAnswer::kClose : then};
        }) {}

  std::unique_ptr<ObjectStore> Open(absl::Duration request_timeout) const {
    return *OpenS3ObjectStore({"ads", ""}, {.endpoint = server_.url(),
                                            .allow_http = true,
                                            .access_key = "id",
                                            .secret_key = "key",
                                            .attempts = 2,
                                            .request_timeout = request_timeout,
                                            .first_pause = absl::Milliseconds(1)});
  }
  // Where each answer began. Not while there is a request.
  const std::vector<size_t>& begins() const { return begins_; }

 private:
  const std::string content_;
  std::vector<size_t> begins_;
  const RawServer server_;
};

std::string Letters(size_t count) {
  std::string letters;
  for (size_t i = 0; i < count; ++i) letters.push_back(static_cast<char>('a' + i * i % 23));
  return letters;
}

TEST(S3StoreOverHttpTest, GoesOnAfterEachBreakWhereTheBytesHaveCome) {
  const std::string content = Letters(200'000);
  BreakingServer server(content, 50'000, AfterAnswer::kClose);
  EXPECT_EQ(*server.Open(absl::Minutes(1))->Get("a"), content);
  EXPECT_THAT(server.begins(), testing::ElementsAre(0, 50'000, 100'000, 150'000));
}

TEST(S3StoreOverHttpTest, ReadsWhatTakesLongerThanAnyRequestMay) {
  const std::string content = Letters(200'000);
  BreakingServer server(content, 60'000, AfterAnswer::kStall);
  EXPECT_EQ(*server.Open(absl::Milliseconds(200))->Get("a"), content);
  EXPECT_THAT(server.begins(), testing::ElementsAre(0, 60'000, 120'000, 180'000));
}

TEST(S3StoreOverHttpTest, GivesUpOnAStoreThatSendsNothing) {
  const RawServer server([](int, const std::string&) {
    return RawAnswer{"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 9\r\n\r\n",
                     AfterAnswer::kStall};
  });
  const auto store = *OpenS3ObjectStore({"ads", ""}, {.endpoint = server.url(),
                                                      .allow_http = true,
                                                      .access_key = "id",
                                                      .secret_key = "key",
                                                      .attempts = 2,
                                                      .request_timeout = absl::Milliseconds(100),
                                                      .first_pause = absl::Milliseconds(1)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(store->Get("a").status()));
}

}  // namespace
}  // namespace capstan
