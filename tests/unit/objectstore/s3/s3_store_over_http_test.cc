// The S3 store over real connections, with a server that delays and breaks off.
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "gtest/gtest.h"
#include "tests/lib/raw_server.h"

namespace capstan {
namespace {

std::string Ok(const std::string& body, const std::string& headers = "") {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n",
                      body);
}

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

TEST(S3StoreOverHttpTest, ReadsAnObjectWholeThroughResetsInItsMiddle) {
  const std::string content(200'000, 'c');
  const RawServer server([&](int n, const std::string&) {
    if (n == 3) return RawAnswer{Ok(content, "ETag: \"1\"\r\n")};
    return RawAnswer{Ok(content).substr(0, 50'000 * n),
                     n == 1 ? AfterAnswer::kReset : AfterAnswer::kClose};
  });
  const auto store = *OpenS3ObjectStore({"ads", ""}, {.endpoint = server.url(),
                                                      .allow_http = true,
                                                      .access_key = "id",
                                                      .secret_key = "key",
                                                      .first_pause = absl::Milliseconds(1)});
  EXPECT_EQ(*store->Get("a"), content);
}

}  // namespace
}  // namespace capstan
