#include "capstan/objectstore/s3/s3_object_store.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/s3/digest.h"

namespace capstan {
namespace {

constexpr uint64_t kMostObjectBytes = uint64_t{16} << 30;
constexpr uint64_t kMostErrorBytes = uint64_t{1} << 20;
constexpr size_t kMostKeyBytes = 1024;

// Data that others have put there may have any names; only what would be another path is refused.
absl::Status CheckReadKey(std::string_view key) {
  bool good = !key.empty() && key.size() <= kMostKeyBytes &&
              std::none_of(key.begin(), key.end(), [](char c) { return absl::ascii_iscntrl(c); });
  for (absl::string_view name : absl::StrSplit(AbslView(key), '/')) {
    good = good && !name.empty() && name.front() != '.';
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", AbslView(key.substr(0, 100)), "' is no object key"));
}

// What a header "Content-Range: bytes 0-9/443" says.
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t size = 0;
};
bool ParseContentRange(std::string_view text, ContentRange* range) {
  if (!text.starts_with("bytes ")) return false;
  text.remove_prefix(6);
  const std::vector<absl::string_view> parts =
      absl::StrSplit(AbslView(text), absl::ByAnyChar("-/"));
  return parts.size() == 3 && absl::SimpleAtoi(parts[0], &range->first) &&
         absl::SimpleAtoi(parts[1], &range->last) && absl::SimpleAtoi(parts[2], &range->size) &&
         range->last >= range->first && range->last < range->size;
}

absl::Status CheckWhole(const std::string& key, const HttpResponse& response) {
  const std::string_view checksum = response.Header("x-amz-checksum-crc32c");
  // With "-" it is one of a multipart upload's parts' checksums, not of these bytes.
  const bool whole = !checksum.empty() && checksum.find('-') == std::string_view::npos &&
                     response.Header("x-amz-checksum-type") != "COMPOSITE";
  if (response.status == 200 && (!whole || checksum == Crc32cText(response.body))) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(key, ": bytes with another checksum than were stored"));
}

// The size of the object of which the answer is a piece.
absl::StatusOr<uint64_t> CheckPiece(const std::string& key, const ReadRange& range,
                                    const HttpResponse& response) {
  ContentRange got;
  if (response.status != 206 || !ParseContentRange(response.Header("content-range"), &got) ||
      got.first != range.offset || got.last - got.first + 1 != response.body.size()) {
    return absl::DataLossError(absl::StrCat(key, ": not the bytes that were asked for"));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t length, LengthWithin(range, got.size));
  if (length == response.body.size()) return got.size;
  return absl::DataLossError(
      absl::StrCat(key, ": ", response.body.size(), " bytes in place of ", length));
}

class S3ObjectStore : public ObjectStore {
 public:
  S3ObjectStore(std::unique_ptr<S3Client> client, const std::string& prefix)
      : client_(std::move(client)), root_(prefix.empty() ? "" : prefix + "/") {}

  absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                      const WriteCondition& condition) override {
    CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
    return PutS3Object(*client_, Full(key), bytes, condition);
  }

  absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) override {
    CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
    return NewS3Writer(*client_, Full(key));
  }

  absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) override;
  absl::StatusOr<ObjectInfo> Stat(std::string_view key) override;

  absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix, std::string_view after,
                                                   size_t limit) override {
    CAPSTAN_ASSIGN_OR_RETURN(
        std::vector<ObjectInfo> found,
        ListS3Objects(*client_, Full(prefix), after.empty() ? "" : Full(after), limit));
    for (ObjectInfo& object : found) object.key.erase(0, root_.size());
    return found;
  }

  absl::Status DeleteAll(std::span<const std::string> keys) override {
    std::vector<std::string> full;
    for (const std::string& key : keys) {
      CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
      full.push_back(Full(key));
    }
    return DeleteS3Objects(*client_, full);
  }

  void Cancel() override { client_->Cancel(); }

 private:
  std::string Full(std::string_view key) const { return root_ + std::string(key); }
  absl::StatusOr<Object> ReadNothing(std::string_view key, const ReadRange& range);

  const std::unique_ptr<S3Client> client_;
  const std::string root_;
};

absl::StatusOr<ObjectInfo> S3ObjectStore::Stat(std::string_view key) {
  CAPSTAN_RETURN_IF_ERROR(CheckReadKey(key));
  const S3Result result = client_->Send({.method = "HEAD", .key = Full(key)});
  CAPSTAN_RETURN_IF_ERROR(result.response.status());
  ObjectInfo info{.key = std::string(key)};
  if (absl::SimpleAtoi(AbslView(result.response->Header("content-length")), &info.bytes))
    return info;
  return absl::DataLossError(absl::StrCat(info.key, ": the answer has no length"));
}

absl::StatusOr<Object> S3ObjectStore::Read(std::string_view key, const ReadRange& range) {
  CAPSTAN_RETURN_IF_ERROR(CheckReadKey(key));
  const bool whole = range.offset == 0 && range.length == ReadRange::kToTheEnd;
  if (range.length == 0) return ReadNothing(key, range);
  S3Call call{.method = "GET", .key = Full(key)};
  const bool to_the_end = range.length > kMostObjectBytes;  // Servers do not count that far.
  call.most_body = to_the_end ? kMostObjectBytes : std::max(range.length, kMostErrorBytes);
  if (whole) {
    call.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  } else {
    const std::string last = to_the_end ? "" : absl::StrCat(range.offset + range.length - 1);
    call.headers.emplace_back("range", absl::StrCat("bytes=", range.offset, "-", last));
  }
  if (!range.version.token.empty()) call.headers.emplace_back("if-match", range.version.token);
  S3Result result = client_->Send(call);
  if (absl::IsOutOfRange(result.response.status())) return ReadNothing(key, range);
  CAPSTAN_RETURN_IF_ERROR(result.response.status());
  uint64_t size = result.response->body.size();
  if (whole) {
    CAPSTAN_RETURN_IF_ERROR(CheckWhole(call.key, *result.response));
  } else {
    CAPSTAN_ASSIGN_OR_RETURN(size, CheckPiece(call.key, range, *result.response));
  }
  ObjectVersion version{std::string(result.response->Header("etag"))};
  return Object{std::move(result.response->body), std::move(version), size};
}

// HTTP has no range of no bytes.
absl::StatusOr<Object> S3ObjectStore::ReadNothing(std::string_view key, const ReadRange& range) {
  const S3Result result = client_->Send({.method = "HEAD", .key = Full(key)});
  CAPSTAN_RETURN_IF_ERROR(result.response.status());
  ObjectVersion version{std::string(result.response->Header("etag"))};
  uint64_t size = 0;
  if (!absl::SimpleAtoi(AbslView(result.response->Header("content-length")), &size)) {
    return absl::DataLossError(absl::StrCat(AbslView(key), ": the answer has no length"));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t length, LengthWithin(range, size));
  if (length == 0) return Object{"", std::move(version), size};
  return absl::AbortedError(absl::StrCat(AbslView(key), ": has changed while it was read"));
}

// Sleeps that a cancellation ends. Thread-safe.
class Sleeper {
 public:
  void Sleep(absl::Duration pause) { ended_.WaitForNotificationWithTimeout(pause); }
  void End() {
    absl::MutexLock lock(&mu_);
    if (!ended_.HasBeenNotified()) ended_.Notify();
  }

 private:
  absl::Mutex mu_;  // One notifies.
  absl::Notification ended_;
};

// The store over libcurl, with the world it stands in.
class OwningStore : public S3ObjectStore {
 public:
  OwningStore(std::unique_ptr<Http> http, std::unique_ptr<Clock> clock,
              std::unique_ptr<Sleeper> sleeper, std::unique_ptr<S3Client> client,
              const std::string& prefix)
      : S3ObjectStore(std::move(client), prefix),
        http_(std::move(http)),
        clock_(std::move(clock)),
        sleeper_(std::move(sleeper)) {}

  void Cancel() override {
    S3ObjectStore::Cancel();
    sleeper_->End();
  }

 private:
  const std::unique_ptr<Http> http_;
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Sleeper> sleeper_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3ObjectStore(const S3Location& location,
                                                               const S3Options& options,
                                                               const S3World& world) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<S3Client> client,
                           S3Client::Create(options, location.bucket, world));
  return std::make_unique<S3ObjectStore>(std::move(client), location.prefix);
}

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenS3ObjectStore(const S3Location& location,
                                                               const S3Options& options) {
  // The token service may be named by an http:// endpoint as well; FindEndpoint checks ours,
  // libcurl all others. A container's agent is on this machine.
  auto http =
      NewCurlHttp({.allow_http = options.allow_http || !options.container_credentials_uri.empty(),
                   .ca_file = options.ca_file});
  auto clock = std::make_unique<SteadyClock>();
  auto sleeper = std::make_unique<Sleeper>();
  const S3World world{.http = *http,
                      .clock = *clock,
                      .now = [] { return absl::Now(); },
                      .sleep = [&here = *sleeper](absl::Duration pause) { here.Sleep(pause); },
                      .unit = [] { return std::ldexp(std::random_device()(), -32); }};
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<S3Client> client,
                           S3Client::Create(options, location.bucket, world));
  return std::make_unique<OwningStore>(std::move(http), std::move(clock), std::move(sleeper),
                                       std::move(client), location.prefix);
}

}  // namespace capstan
