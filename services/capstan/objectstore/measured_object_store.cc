#include "capstan/objectstore/measured_object_store.h"

#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"
#include "capstan/metrics/buckets.h"
#include "capstan/metrics/declaration.h"

namespace capstan {
namespace {

constexpr metrics::CounterDeclaration kObjectStoreRequests = {
    .name = "capstan_object_store_requests_total",
    .help =
        "Calls to an object store, by their status: S3 or a checkpoint folder; `op` is read, "
        "write, upload, stat, list or delete.",
    .labels = "code, op",
    .when = "with checkpoints; workers: with data in S3",
    .normal = "`OK`; `NOT_FOUND` when a job begins"};

constexpr metrics::HistogramDeclaration kObjectStoreRequestDurationSeconds = {
    .name = "capstan_object_store_request_duration_seconds",
    .help = "Time of a call to an object store, with retries.",
    .labels = "op",
    .when = "with checkpoints; workers: with data in S3",
    .normal = "below a second"};

enum class Ask { kRead, kWrite, kUpload, kStat, kList, kDelete };
constexpr std::array<const char*, 6> kNames = {"read", "write", "upload", "stat", "list", "delete"};

absl::StatusCode CodeOf(const absl::Status& status) { return status.code(); }
template <typename T>
absl::StatusCode CodeOf(const absl::StatusOr<T>& result) {
  return result.status().code();
}

// *Thread-safe*.
class Meter {
 public:
  explicit Meter(metrics::Registry& registry) : registry_(registry) {
    for (size_t i = 0; i < kNames.size(); ++i) {
      durations_[i] = &registry.AddHistogram(kObjectStoreRequestDurationSeconds,
                                             metrics::WaitBuckets(), {{"op", kNames[i]}});
      // These counters exist from the beginning, at 0.
      Requests(kNames[i], absl::StatusCode::kOk);
      Requests(kNames[i], absl::StatusCode::kUnavailable);
    }
  }

  // Measures `call` and returns its result, a Status or a StatusOr.
  template <typename Call>
  auto Time(Ask ask, Call call) {
    const absl::Time begun = SteadyClock().Now();
    auto result = call();
    Count(ask, CodeOf(result), begun);
    return result;
  }

  void Count(Ask ask, absl::StatusCode code, absl::Time begun) {
    const auto place = static_cast<size_t>(ask);
    durations_[place]->Observe(absl::ToDoubleSeconds(SteadyClock().Now() - begun));
    Requests(kNames[place], code).Add();
  }

 private:
  metrics::Counter& Requests(const char* op, absl::StatusCode code) {
    return registry_.AddCounter(kObjectStoreRequests,
                                {{"op", op}, {"code", absl::StatusCodeToString(code)}});
  }

  metrics::Registry& registry_;
  std::array<metrics::Histogram*, kNames.size()> durations_{};
};

class MeasuredWriter : public ObjectWriter {
 public:
  MeasuredWriter(std::unique_ptr<ObjectWriter> writer, std::shared_ptr<Meter> meter,
                 absl::Time begun)
      : writer_(std::move(writer)), meter_(std::move(meter)), begun_(begun) {}

  absl::Status Append(std::string_view bytes) override {
    absl::Status status = writer_->Append(bytes);
    if (!status.ok()) Count(status);
    return status;
  }

  absl::Status Commit() override {
    absl::Status status = writer_->Commit();
    Count(status);
    return status;
  }

 private:
  void Count(const absl::Status& status) {
    if (!std::exchange(counted_, true)) meter_->Count(Ask::kUpload, status.code(), begun_);
  }

  const std::unique_ptr<ObjectWriter> writer_;
  const std::shared_ptr<Meter> meter_;  // Shared by the store and its writers.
  const absl::Time begun_;
  bool counted_ = false;
};

class MeasuredObjectStore : public ObjectStore {
 public:
  MeasuredObjectStore(std::unique_ptr<ObjectStore> store, metrics::Registry& registry)
      : store_(std::move(store)), meter_(std::make_shared<Meter>(registry)) {}

  absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                      const WriteCondition& condition) override {
    return meter_->Time(Ask::kWrite, [&] { return store_->Write(key, bytes, condition); });
  }

  absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) override {
    const absl::Time begun = SteadyClock().Now();
    absl::StatusOr<std::unique_ptr<ObjectWriter>> writer = store_->Create(key);
    if (!writer.ok()) meter_->Count(Ask::kUpload, writer.status().code(), begun);
    CAPSTAN_RETURN_IF_ERROR(writer.status());
    return std::make_unique<MeasuredWriter>(*std::move(writer), meter_, begun);
  }

  absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) override {
    return meter_->Time(Ask::kRead, [&] { return store_->Read(key, range); });
  }

  absl::StatusOr<ObjectInfo> Stat(std::string_view key) override {
    return meter_->Time(Ask::kStat, [&] { return store_->Stat(key); });
  }

  absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix, std::string_view after,
                                                   size_t limit) override {
    return meter_->Time(Ask::kList, [&] { return store_->ListPage(prefix, after, limit); });
  }

  absl::Status DeleteAll(std::span<const std::string> keys) override {
    return meter_->Time(Ask::kDelete, [&] { return store_->DeleteAll(keys); });
  }

  void Cancel() override { store_->Cancel(); }

 private:
  const std::unique_ptr<ObjectStore> store_;
  const std::shared_ptr<Meter> meter_;  // Shared by the store and its writers.
};

std::atomic<metrics::Registry*> measured{nullptr};  // Set by MeasureObjectStores.

}  // namespace

std::unique_ptr<ObjectStore> MeasureObjectStore(std::unique_ptr<ObjectStore> store,
                                                metrics::Registry& registry) {
  return std::make_unique<MeasuredObjectStore>(std::move(store), registry);
}

void MeasureObjectStores(metrics::Registry& registry) { measured.store(&registry); }

std::unique_ptr<ObjectStore> MeasureIfAsked(std::unique_ptr<ObjectStore> store) {
  metrics::Registry* registry = measured.load();
  if (registry == nullptr) return store;
  return MeasureObjectStore(std::move(store), *registry);
}

}  // namespace capstan
