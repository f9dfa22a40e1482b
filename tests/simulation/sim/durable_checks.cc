#include "tests/simulation/sim/durable_checks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/crc32c.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/manifest.h"
#include "capstan/checkpoint/sealed_json.h"
#include "chief/work/work.h"

namespace capstan::sim {
namespace {

auto AgeOf(const v1::Manifest& manifest) {
  return std::make_tuple(manifest.timeline(), manifest.step(), manifest.id());
}

std::string IdOf(const std::string& uri) { return uri.substr(uri.rfind('/') + 1); }

// <id>/<name> of an object of a checkpoint.
std::string ObjectOf(const std::string& key) {
  return key.substr(key.rfind('/', key.rfind('/') - 1) + 1);
}

bool SamePlaces(const v1::View& a, const v1::View& b) {
  const auto same_shard = [](const v1::ShardInfo& x, const v1::ShardInfo& y) {
    return x.index() == y.index() && x.incarnation() == y.incarnation();
  };
  const auto same = [](const auto& x, const auto& y) {
    return x.SerializeAsString() == y.SerializeAsString();
  };
  return std::equal(a.owners().begin(), a.owners().end(), b.owners().begin(), b.owners().end()) &&
         std::equal(a.moves().begin(), a.moves().end(), b.moves().begin(), b.moves().end(), same) &&
         std::equal(a.copies().begin(), a.copies().end(), b.copies().begin(), b.copies().end(),
                    same) &&
         std::equal(a.pairs().begin(), a.pairs().end(), b.pairs().begin(), b.pairs().end(), same) &&
         std::equal(a.shards().begin(), a.shards().end(), b.shards().begin(), b.shards().end(),
                    same_shard);
}

}  // namespace

// ---- what is written ----

void DurableChecks::OnWritten(const std::string& key, const std::string& bytes) {
  if (key.ends_with("/state/chief.json")) return OnState(bytes);
  const size_t name = key.rfind('/') + 1;
  if (key.substr(name) == kManifestName) OnManifest(bytes);
}

void DurableChecks::OnState(const std::string& bytes) {
  v1::ChiefState state;
  CAPSTAN_CHECK(OpenSealedJson("chief.json", bytes, state).ok());
  cast_.schedule().Note("store: state of term ", state.term(), ", timeline ",
                        state.view().timeline(), ", ", state.progress().examples(), " examples");
  if (state.term() < state_.term()) {
    violate_(absl::StrCat("TermsRise: a chief of term ", state.term(), " writes over one of term ",
                          state_.term()));
  }
  state_ = std::move(state);
}

void DurableChecks::OnManifest(const std::string& bytes) {
  if (bytes.empty()) return;  // An attempt that is given up.
  const absl::StatusOr<v1::Manifest> manifest = ParseManifest(bytes);
  CAPSTAN_CHECK(manifest.ok());
  cast_.schedule().Note("store: manifest ", manifest->id(), ", timeline ", manifest->timeline(),
                        ", parent ", manifest->parent());
  manifests_[manifest->id()] = *manifest;
}

std::string DurableChecks::Missing(const std::string& id) const {
  const v1::Manifest& manifest = manifests_.at(id);
  const std::string folder = absl::StrCat(cast_.job().options().uri.substr(sizeof("sim://") - 1),
                                          "/", cast_.job().spec().job(), "/checkpoints/", id, "/");
  ObjectStore& truth = cast_.store().truth();
  if (!truth.Stat(absl::StrCat(folder, std::string(kManifestName))).ok()) {
    return absl::StrCat(id, " is not there");
  }
  for (const v1::SavedFile& file : manifest.files()) {
    if (damaged_.contains(absl::StrCat(id, "/", file.name()))) continue;
    const absl::StatusOr<Object> object =
        truth.Read(folder + file.name(), {.offset = file.offset(), .length = file.bytes()});
    if (!object.ok() || object->size != ObjectBytes(file) ||
        Crc32c(object->bytes) != file.crc32c()) {
      return absl::StrCat(id, " lacks ", file.name());
    }
  }
  return manifest.parent().empty() ? "" : Missing(manifest.parent());
}

void DurableChecks::CheckWhole(const std::string& id) const {
  if (std::string missing = Missing(id); !missing.empty()) {
    violate_(absl::StrCat("ManifestWhole: ", missing));
  }
}

// ---- damage ----

void DurableChecks::OnDamaged(const std::string& key) {
  cast_.schedule().Note("store: damages ", key);
  damaged_.insert(ObjectOf(key));
}

bool DurableChecks::IsDamaged(const std::string& id) const {
  for (std::string link = id; !link.empty(); link = manifests_.at(link).parent()) {
    if (damaged_.contains(absl::StrCat(link, "/", std::string(kManifestName)))) return true;
  }
  const auto& files = manifests_.at(id).files();
  return std::any_of(files.begin(), files.end(),
                     [&](const v1::SavedFile& file) { return IsDamaged(id, file); });
}

bool DurableChecks::IsDamaged(const std::string& id, const v1::SavedFile& file) const {
  if (damaged_.contains(absl::StrCat(id, "/", file.name()))) return true;
  if (!file.delta()) return false;
  const std::string& parent = manifests_.at(id).parent();
  const auto& files = manifests_.at(parent).files();
  return std::any_of(files.begin(), files.end(), [&](const v1::SavedFile& before) {
    return before.partition() == file.partition() && IsDamaged(parent, before);
  });
}

bool DurableChecks::MayFail() const {
  const auto damaged = [this](const std::string& id) { return IsDamaged(id); };
  return std::any_of(relied_on_.begin(), relied_on_.end(), damaged) &&
         std::all_of(relied_on_.begin(), relied_on_.end(),
                     [&](const std::string& id) { return deleted_.contains(id) || damaged(id); });
}

std::string DurableChecks::DamageText() const {
  std::string text = relied_on_.empty() ? "no chief has counted on a checkpoint" : "checkpoints:";
  for (const std::string& id : relied_on_) {
    absl::StrAppend(&text, " ", id, IsDamaged(id) ? " is damaged" : " is sound",
                    deleted_.contains(id) ? " and deleted;" : ";");
  }
  return text;
}

// ---- what chiefs count on ----

void DurableChecks::OnClaim(uint64_t term, const std::vector<std::string>& ids) {
  cast_.schedule().Note("chief: term ", term, " begins");
  if (term < ruling_term_) return;  // Another one has come while this one took stock.
  if (term == ruling_term_) violate_(absl::StrCat("TermsRise: term ", term, " is claimed twice"));
  ruling_term_ = term;
  relied_on_.insert(ids.begin(), ids.end());
  for (const std::string& id : ids) {
    // What the chief before is about to delete there are newer ones for.
    if (!deleted_.contains(id)) CheckWhole(id);
  }
}

void DurableChecks::OnCheckpoint(uint64_t term, const std::string& id) {
  // Once its successor has claimed the job, and perhaps taken stock, nobody counts on it.
  if (term != ruling_term_ || term < state_.term()) return;
  counted_on_.insert(id);
  relied_on_.insert(id);
  CheckWhole(id);
}

void DurableChecks::OnDeleteOrdered(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    cast_.schedule().Note("chief: deletes ", id);
    counted_on_.erase(id);
    deleted_.insert(id);
  }
}

// ---- what must stand first ----

void DurableChecks::OnView(const v1::View& view) const {
  if (!stores() || view.owners().empty()) return;
  const v1::View& stands = state_.view();
  const bool older = stands.timeline() < view.timeline();
  const bool other = stands.timeline() == view.timeline() && state_.term() <= view.epoch().term() &&
                     !SamePlaces(stands, view);
  if (!older && !other) return;
  violate_(absl::StrCat("ViewStands: a view of timeline ", view.timeline(),
                        " is published that is not what the store holds"));
}

std::optional<v1::Manifest> DurableChecks::OnTimelineBegun(const v1::LoadPartitionsRequest& order) {
  std::optional<v1::Manifest> base;
  if (!order.uri().empty()) base = manifests_[IdOf(order.uri())];
  cast_.schedule().Note("timeline ", order.header().timeline(), " begins with ",
                        base ? base->id() : "the initial values");
  if (base) cast_.schedule().Tell("  progress: ", base->progress().ShortDebugString());
  if (stores() && state_.view().timeline() < order.header().timeline()) {
    violate_("ViewStands: a timeline is loaded before it is stored");
  }
  CheckNewest(base);
  return base;
}

void DurableChecks::OnPartialRecovery(const v1::LoadPartitionsRequest& order) {
  if (order.header().epoch().term() < ruling_term_) return;  // Nobody listens to it.
  std::optional<v1::Manifest> base;
  if (!order.uri().empty()) base = manifests_[IdOf(order.uri())];
  CheckNewest(base);
}

void DurableChecks::CheckNewest(const std::optional<v1::Manifest>& base) {
  for (const std::string& id : counted_on_) {
    if (base && AgeOf(manifests_[id]) <= AgeOf(*base)) continue;
    if (IsDamaged(id)) continue;
    violate_(absl::StrCat("NewestIsUsed: the job goes back behind ", id));
  }
}

void DurableChecks::OnStreamsClosed(const v1::CloseStreamsRequest& request) const {
  if (!stores() || state_.view().timeline() != request.header().timeline()) return;
  chief::Work work(cast_.job().plan());
  work.Restore(state_.progress());
  for (const v1::StreamClose& close : request.streams()) {
    const bool kept =
        std::any_of(state_.closes().begin(), state_.closes().end(),
                    [&](const auto& stored) { return stored.stream() == close.stream(); });
    if (kept || work.IsDone(StreamId{close.stream()})) continue;
    violate_(absl::StrCat("ClosesStand: stream ", close.stream(),
                          " is closed, and the store does not know that it is done"));
  }
}

}  // namespace capstan::sim
