// Stores that take long, in injected time: what moves is not given up, what does not move is.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/objectstore/range_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

char ByteAt(uint64_t place) { return static_cast<char>('a' + place / 4096 % 26); }

// An object whose bytes are made when they are asked for, behind a line of so many bytes a second
// that all requests share. *Thread-safe*, unlike the script that it takes the place of.
class SlowHttp : public Http {
 public:
  SlowHttp(uint64_t object_bytes, double bytes_a_second, FakeClock& clock)
      : object_bytes_(object_bytes), bytes_a_second_(bytes_a_second), clock_(clock) {}

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    absl::MutexLock lock(&mu_);
    const bool get = request.method == "GET";
    uint64_t first = 0, last = object_bytes_ - 1;
    const HttpResponse sent{.headers = request.headers};
    const std::string_view range = sent.Header("range");
    if (!range.empty()) {
      const std::string text(range.substr(6));
      first = std::stoull(text);
      const std::string end = text.substr(text.find('-') + 1);
      if (!end.empty()) last = std::stoull(end);
    }
    const uint64_t wanted = get ? last - first + 1 : request.body.size();
    const auto in_time =
        request.timeout == absl::InfiniteDuration()
            ? wanted
            : static_cast<uint64_t>(absl::ToDoubleSeconds(request.timeout) * bytes_a_second_);
    const uint64_t moved = std::min(wanted, in_time);
    const absl::Duration took = bytes_a_second_ > 0
                                    ? absl::Seconds(static_cast<double>(moved) / bytes_a_second_)
                                    : request.timeout;
    clock_.Advance(moved < wanted ? request.timeout : took);
    HttpResponse response{.status = get && !range.empty() ? 206 : 200,
                          .headers = {{"etag", "\"1\""},
                                      {"content-range", absl::StrCat("bytes ", first, "-", last,
                                                                     "/", object_bytes_)}}};
    if (get) {
      response.body.resize(moved);
      for (uint64_t i = 0; i < moved; ++i) response.body[i] = ByteAt(first + i);
    } else if (request.method == "POST") {
      response.body = request.url.ends_with("uploads=") ? "<R><UploadId>u</UploadId></R>"
                                                        : "<CompleteMultipartUploadResult/>";
    }
    if (moved == wanted) return response;
    if (request.partial != nullptr) *request.partial = std::move(response);
    return absl::DeadlineExceededError("slow");
  }

 private:
  const uint64_t object_bytes_;
  const double bytes_a_second_;
  FakeClock& clock_;
  absl::Mutex mu_;
};

class S3SlowTest : public testing::Test {
 protected:
  std::unique_ptr<ObjectStore> Open(Http& http) {
    S3World world = world_.World();
    return *OpenS3ObjectStore({"ads", "ctr"}, world_.options,
                              {.http = http,
                               .clock = world.clock,
                               .now = world.now,
                               .sleep = [](absl::Duration) {},
                               .unit = world.unit});
  }
  absl::Duration Elapsed() const { return world_.clock.Now() - begin_; }

  ScriptedWorld world_;
  const absl::Time begin_ = world_.clock.Now();
};

TEST_F(S3SlowTest, AReadOfTwentyMinutesArrives) {
  SlowHttp http(24 << 20, /*bytes_a_second=*/20e3, world_.clock);
  const auto object = Open(http)->Read("a", {.offset = 1000, .length = (24 << 20) - 1000});
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->bytes.size(), (24u << 20) - 1000);
  EXPECT_EQ(object->bytes.back(), ByteAt((24 << 20) - 1));
  EXPECT_GT(Elapsed(), absl::Minutes(20));
}

TEST_F(S3SlowTest, ALongRangeArrivesInPiecesThatTravelTogether) {
  SlowHttp http(96 << 20, /*bytes_a_second=*/1e5, world_.clock);
  const auto store = Open(http);
  RangeReader reader(*store, "a", /*begin=*/5, /*length=*/(96 << 20) - 5);
  uint64_t at = 5;
  for (;;) {
    const absl::StatusOr<std::string> piece = reader.Next();
    ASSERT_TRUE(piece.ok()) << piece.status();
    if (piece->empty()) break;
    ASSERT_EQ(piece->front(), ByteAt(at));
    at += piece->size();
    ASSERT_EQ(piece->back(), ByteAt(at - 1));
  }
  EXPECT_EQ(at, 96u << 20);
  EXPECT_GT(Elapsed(), absl::Minutes(15));
}

TEST_F(S3SlowTest, AnObjectOfTwentyGibibytesIsReadBeyondSixteen) {
  SlowHttp http(uint64_t{20} << 30, /*bytes_a_second=*/1e9, world_.clock);
  const auto store = Open(http);
  const uint64_t begin = (uint64_t{16} << 30) - (12 << 20);
  RangeReader reader(*store, "a", begin, (uint64_t{20} << 30) - begin);
  for (uint64_t at = begin; at < (uint64_t{16} << 30) + (12 << 20);) {
    const absl::StatusOr<std::string> piece = reader.Next();
    ASSERT_TRUE(piece.ok()) << piece.status();
    ASSERT_EQ(piece->front(), ByteAt(at));
    at += piece->size();
    ASSERT_EQ(piece->back(), ByteAt(at - 1));
  }
  EXPECT_EQ(reader.object_bytes(), uint64_t{20} << 30);
}

TEST_F(S3SlowTest, AReadOfWhichNothingComesIsGivenUp) {
  SlowHttp http(24 << 20, /*bytes_a_second=*/0, world_.clock);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Open(http)->Read("a", {.length = 1 << 20}).status()));
  EXPECT_LE(Elapsed(), absl::Minutes(2));
}

TEST_F(S3SlowTest, AnUploadOfHalfAnHourIsStored) {
  SlowHttp http(1, /*bytes_a_second=*/20e3, world_.clock);
  const auto store = Open(http);
  const auto writer = *store->Create("a");
  const std::string piece(20 << 20, 'x');
  ASSERT_TRUE(writer->Append(piece).ok());
  ASSERT_TRUE(writer->Append(piece).ok());
  EXPECT_TRUE(writer->Commit().ok());
  EXPECT_GT(Elapsed(), absl::Minutes(30));
}

}  // namespace
}  // namespace capstan
