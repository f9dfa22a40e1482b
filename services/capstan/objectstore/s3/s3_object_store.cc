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

namespace capstan {
namespace {

constexpr size_t kMostKeyBytes = 1024;

// Data stored by others may have any names; only names that would mean another path are refused.
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

  absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) override {
    CAPSTAN_RETURN_IF_ERROR(CheckReadKey(key));
    return ReadS3Object(*client_, Full(key), range);
  }
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

  const std::unique_ptr<S3Client> client_;
  const std::string root_;
};

absl::StatusOr<ObjectInfo> S3ObjectStore::Stat(std::string_view key) {
  CAPSTAN_RETURN_IF_ERROR(CheckReadKey(key));
  CAPSTAN_ASSIGN_OR_RETURN(const HttpResponse answer, HeadS3Object(*client_, Full(key)));
  ObjectInfo info{.key = std::string(key)};
  if (absl::SimpleAtoi(AbslView(answer.Header("content-length")), &info.bytes)) return info;
  return absl::DataLossError(absl::StrCat(info.key, ": the answer has no length"));
}

// Sleeps that can be interrupted by a cancellation. Thread-safe.
class Sleeper {
 public:
  void Sleep(absl::Duration pause) { ended_.WaitForNotificationWithTimeout(pause); }
  void End() {
    absl::MutexLock lock(&mu_);
    if (!ended_.HasBeenNotified()) ended_.Notify();
  }

 private:
  absl::Mutex mu_;  // Only one thread notifies.
  absl::Notification ended_;
};

// The store over libcurl, together with all objects that it uses.
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
  // The token service, too, may have an http:// endpoint. FindEndpoint checks the endpoint of S3,
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
