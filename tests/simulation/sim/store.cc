#include "tests/simulation/sim/store.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "tests/lib/memory_object_store.h"

namespace capstan::sim {
namespace {

constexpr absl::Duration kQuickestStore = absl::Milliseconds(1);
constexpr absl::Duration kUsualStore = absl::Milliseconds(30);
// When a client gives a request up, and how long after that it may still be carried out.
constexpr absl::Duration kShortestPatience = absl::Milliseconds(100);
constexpr absl::Duration kLongestPatience = absl::Seconds(5);
constexpr absl::Duration kLatest = absl::Seconds(8);

absl::Status Over() { return absl::CancelledError("the process ends"); }

}  // namespace

// A folder of the store, as a process reaches it.
class SimStore::Client : public ObjectStore {
 public:
  // `threads` null: at once and without troubles.
  Client(SimStore& store, SimThreads* threads, std::string folder)
      : store_(store), threads_(threads), folder_(std::move(folder)) {}

  absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                      const WriteCondition& condition) override {
    CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
    const bool keeps_condition = !store_.weather_.unconditional;
    return Do<ObjectVersion>(
        [&store = store_, key = Whole(key), bytes = std::string(bytes),
         condition =
             keeps_condition ? condition : WriteCondition()]() -> absl::StatusOr<ObjectVersion> {
          absl::StatusOr<ObjectVersion> written = store.truth_->Write(key, bytes, condition);
          if (!written.ok()) return written;
          store.on_written_(key, bytes);
          CAPSTAN_RETURN_IF_ERROR(store.Age(key, bytes));
          return written;
        });
  }

  absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) override {
    return MakeBufferedWriter(*this, std::string(key));
  }

  absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) override {
    return Do<Object>(
        [&store = store_, key = Whole(key), range] { return store.truth_->Read(key, range); });
  }

  absl::StatusOr<ObjectInfo> Stat(std::string_view key) override {
    return Do<ObjectInfo>([&store = store_, key = Whole(key)] { return store.truth_->Stat(key); });
  }

  absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix, std::string_view after,
                                                   size_t limit) override {
    CAPSTAN_ASSIGN_OR_RETURN(
        std::vector<ObjectInfo> found,
        Do<std::vector<ObjectInfo>>(
            [&store = store_, prefix = Whole(prefix), after = after.empty() ? "" : Whole(after),
             limit] { return store.truth_->ListPage(prefix, after, limit); }));
    for (ObjectInfo& object : found) object.key.erase(0, folder_.size());
    return found;
  }

  absl::Status DeleteAll(std::span<const std::string> keys) override {
    std::vector<std::string> whole;
    for (const std::string& key : keys) whole.push_back(Whole(key));
    return Do<bool>([&store = store_, whole]() -> absl::StatusOr<bool> {
             CAPSTAN_RETURN_IF_ERROR(store.truth_->DeleteAll(whole));
             return true;
           })
        .status();
  }

 private:
  std::string Whole(std::string_view key) const { return folder_ + std::string(key); }

  template <typename Result>
  absl::StatusOr<Result> Do(std::function<absl::StatusOr<Result>()> effect) {
    if (threads_ == nullptr) return effect();
    if (threads_->over()) return Over();
    const Outcome outcome = store_.DrawOutcome();
    auto result = std::make_shared<std::optional<absl::StatusOr<Result>>>();
    if (outcome.happens) {
      // Whatever becomes of the process meanwhile.
      store_.schedule_.After(outcome.until_effect,
                             [effect = std::move(effect), result] { result->emplace(effect()); });
    }
    if (!threads_->Sleep(outcome.until_answer)) return Over();
    if (!outcome.answered || !*result) return absl::UnavailableError("the store does not answer");
    return **result;
  }

  SimStore& store_;
  SimThreads* const threads_;
  const std::string folder_;
};

SimStore::SimStore(Schedule& schedule, OnWritten on_written, OnDamaged on_damaged)
    : schedule_(schedule),
      on_written_(std::move(on_written)),
      on_damaged_(std::move(on_damaged)),
      truth_(MakeMemoryObjectStore()) {}

absl::Status SimStore::Age(const std::string& key, const std::string& bytes) {
  const bool partition = key.ends_with(".capstan");
  if (partition && weather_.forget > 0 && schedule_.Chance(weather_.forget)) {
    return truth_->DeleteAll({&key, 1});
  }
  const bool decays = partition || key.ends_with(kManifestName);
  if (!decays || bytes.empty() || weather_.damage == 0 || !schedule_.Chance(weather_.damage)) {
    return absl::OkStatus();
  }
  std::string damaged = bytes;
  damaged[schedule_.Below(bytes.size())] ^= static_cast<char>(1 << schedule_.Below(8));
  CAPSTAN_RETURN_IF_ERROR(truth_->Write(key, damaged, WriteCondition()).status());
  on_damaged_(key);
  return absl::OkStatus();
}

StoreOpener SimStore::OpenerOf(SimThreads* threads) {
  return [this, threads](const std::string& uri) -> absl::StatusOr<std::unique_ptr<ObjectStore>> {
    constexpr std::string_view kScheme = "sim://";
    if (!uri.starts_with(kScheme)) return absl::InvalidArgumentError(uri);
    return std::make_unique<Client>(*this, threads, uri.substr(kScheme.size()) + "/");
  };
}

void SimStore::Heal() {
  weather_ = {};
  away_until_ = absl::InfinitePast();
}

SimStore::Outcome SimStore::DrawOutcome() {
  const bool slow = schedule_.Chance(weather_.dawdle);
  const absl::Duration one_way =
      schedule_.Between(kQuickestStore, slow ? weather_.longest : kUsualStore);
  const absl::Duration patience = schedule_.Between(kShortestPatience, kLongestPatience);
  Outcome outcome{.until_effect = one_way,
                  .until_answer = one_way + schedule_.Between(kQuickestStore, kUsualStore)};
  if (schedule_.Now() < away_until_ || schedule_.Chance(weather_.fail)) {
    outcome.happens = outcome.answered = false;
    outcome.until_answer = patience;
  } else if (schedule_.Chance(weather_.lose)) {
    outcome.answered = false;
    outcome.until_answer = std::max(patience, outcome.until_effect);
  } else if (schedule_.Chance(weather_.late)) {
    outcome.answered = false;
    outcome.until_answer = patience;
    outcome.until_effect = patience + schedule_.Between(kQuickestStore, kLatest);
  }
  return outcome;
}

}  // namespace capstan::sim
