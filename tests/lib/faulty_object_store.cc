#include "tests/lib/faulty_object_store.h"

#include <utility>

#include "capstan/base/status.h"

namespace capstan {

using Kind = StoreCall::Kind;
using Effect = StoreFault::Effect;

// Keeps a copy of what is appended to the base's writer, for a commit that tears.
class FaultyObjectStore::Writer : public ObjectWriter {
 public:
  Writer(FaultyObjectStore& store, std::string key, std::unique_ptr<ObjectWriter> base)
      : store_(store), key_(std::move(key)), base_(std::move(base)) {}

  absl::Status Append(std::string_view bytes) override {
    const StoreFault fault = store_.Meet(Kind::kAppend, key_);
    if (fault.status.ok() || fault.effect == Effect::kDone) {
      appended_.append(bytes);
      CAPSTAN_RETURN_IF_ERROR(base_->Append(bytes));
    }
    return fault.status;
  }

  absl::Status Commit() override {
    const StoreFault fault = store_.Meet(Kind::kCommit, key_);
    if (fault.status.ok() || fault.effect == Effect::kDone) {
      CAPSTAN_RETURN_IF_ERROR(base_->Commit());
    } else if (fault.effect == Effect::kTorn) {
      CAPSTAN_RETURN_IF_ERROR(store_.Tear(key_, appended_));
    }
    return fault.status;
  }

 private:
  FaultyObjectStore& store_;
  const std::string key_;
  const std::unique_ptr<ObjectWriter> base_;
  std::string appended_;
};

void FaultyObjectStore::SetPlan(StoreFaultPlan plan) {
  absl::MutexLock lock(&mu_);
  plan_ = std::move(plan);
}

void FaultyObjectStore::FailNth(int64_t n, absl::Status status) {
  absl::MutexLock lock(&mu_);
  plan_ = [number = calls_ + n, status = std::move(status)](const StoreCall& call) {
    return StoreFault{.status = call.number == number ? status : absl::OkStatus()};
  };
}

void FaultyObjectStore::FailAlways(absl::Status status) {
  SetPlan([status = std::move(status)](const StoreCall&) { return StoreFault{.status = status}; });
}

int64_t FaultyObjectStore::calls() const {
  absl::MutexLock lock(&mu_);
  return calls_;
}

StoreFault FaultyObjectStore::Meet(Kind kind, std::string_view key) {
  StoreCall call{.kind = kind, .key = std::string(key), .number = 0};
  StoreFaultPlan plan;
  {
    absl::MutexLock lock(&mu_);
    call.number = ++calls_;
    plan = plan_;
  }
  StoreFault fault = plan ? plan(call) : StoreFault{};
  if (fault.pause) fault.pause();
  return fault;
}

absl::Status FaultyObjectStore::Tear(std::string_view key, std::string_view bytes) {
  return base_.Put(key, bytes.substr(0, bytes.size() / 2));
}

absl::StatusOr<ObjectVersion> FaultyObjectStore::Write(std::string_view key, std::string_view bytes,
                                                       const WriteCondition& condition) {
  const StoreFault fault = Meet(Kind::kWrite, key);
  if (fault.status.ok()) return base_.Write(key, bytes, condition);
  if (fault.effect == Effect::kDone) {
    CAPSTAN_RETURN_IF_ERROR(base_.Write(key, bytes, condition).status());
  } else if (fault.effect == Effect::kTorn) {
    CAPSTAN_RETURN_IF_ERROR(Tear(key, bytes));
  }
  return fault.status;
}

absl::StatusOr<std::unique_ptr<ObjectWriter>> FaultyObjectStore::Create(std::string_view key) {
  CAPSTAN_RETURN_IF_ERROR(Meet(Kind::kCreate, key).status);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> base, base_.Create(key));
  return std::make_unique<Writer>(*this, std::string(key), std::move(base));
}

absl::StatusOr<Object> FaultyObjectStore::Read(std::string_view key, const ReadRange& range) {
  const StoreFault fault = Meet(Kind::kRead, key);
  CAPSTAN_RETURN_IF_ERROR(fault.status);
  CAPSTAN_ASSIGN_OR_RETURN(Object object, base_.Read(key, range));
  if (fault.flip_bit && !object.bytes.empty()) object.bytes.back() ^= 1;
  return object;
}

absl::StatusOr<ObjectInfo> FaultyObjectStore::Stat(std::string_view key) {
  CAPSTAN_RETURN_IF_ERROR(Meet(Kind::kStat, key).status);
  return base_.Stat(key);
}

absl::StatusOr<std::vector<ObjectInfo>> FaultyObjectStore::ListPage(std::string_view prefix,
                                                                    std::string_view after,
                                                                    size_t limit) {
  CAPSTAN_RETURN_IF_ERROR(Meet(Kind::kList, prefix).status);
  return base_.ListPage(prefix, after, limit);
}

absl::Status FaultyObjectStore::DeleteAll(std::span<const std::string> keys) {
  const StoreFault fault = Meet(Kind::kDelete, keys.empty() ? "" : keys.front());
  if (fault.status.ok() || fault.effect == Effect::kDone) {
    CAPSTAN_RETURN_IF_ERROR(base_.DeleteAll(keys));
  }
  return fault.status;
}

}  // namespace capstan
