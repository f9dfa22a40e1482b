#include "capstan/model/presets.h"

#include <map>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"

namespace capstan {
namespace {

struct Preset {
  std::vector<const char*> towers;
  // The hidden layers of the model, if the job does not set them.
  std::vector<uint32_t> hidden = {};
  std::vector<uint32_t> tower_hidden = {};  // The widths of dot (bottom) and conv (channels).
};

const std::map<std::string, Preset>& Presets() {
  static const auto& presets = *new std::map<std::string, Preset>{
      {"lr", {{"linear", "bias"}}},
      {"fm", {{"linear", "fm", "bias"}}},
      {"wide_deep", {{"linear", "mlp", "bias"}, {400, 400}}},
      {"deepfm", {{"linear", "fm", "mlp", "bias"}, {400, 400}}},
      {"dcn_v2", {{"cross", "mlp", "bias"}, {400, 400}}},
      {"dlrm", {{"dot", "bias"}, {256, 128}, {64}}},
      {"mf", {{"linear", "fm", "bias"}}},
      {"mlp", {{"mlp"}, {128}}},
      {"softmax", {{"linear", "bias"}}},
      {"cnn", {{"conv"}, {128}, {16, 32}}},
  };
  return presets;
}

v1::TowerSpec TowerOf(const std::string& kind, const Preset& preset, const v1::ModelSpec& model) {
  v1::TowerSpec tower;
  tower.set_kind(kind);
  if (kind == "mlp") *tower.mutable_hidden() = model.hidden();
  if (kind == "cross") tower.set_layers(model.cross_layers() > 0 ? model.cross_layers() : 3);
  if (kind == "dot" || kind == "conv") {
    tower.mutable_hidden()->Add(preset.tower_hidden.begin(), preset.tower_hidden.end());
  }
  return tower;
}

absl::Status AddTowers(v1::ModelSpec& model) {
  const auto found = Presets().find(model.preset());
  if (found == Presets().end()) {
    return absl::InvalidArgumentError(absl::StrCat("model.preset: \"", model.preset(),
                                                   "\" is not one of ",
                                                   absl::StrJoin(PresetNames(), ", ")));
  }
  const Preset& preset = found->second;
  if (model.hidden().empty()) {
    model.mutable_hidden()->Add(preset.hidden.begin(), preset.hidden.end());
  }
  for (const char* kind : preset.towers) *model.add_towers() = TowerOf(kind, preset, model);
  return absl::OkStatus();
}

absl::Status NameTowers(v1::ModelSpec& model) {
  std::set<std::string> names;
  for (v1::TowerSpec& tower : *model.mutable_towers()) {
    if (tower.name().empty()) tower.set_name(tower.kind());
    if (names.insert(tower.name()).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("model.towers: two are named \"", tower.name(), "\""));
  }
  return absl::OkStatus();
}

// A tower with hidden layers takes the settings that it does not set from the model.
void SetLayers(v1::ModelSpec& model) {
  for (v1::TowerSpec& tower : *model.mutable_towers()) {
    if (tower.kind() != "mlp" && tower.kind() != "dot" && tower.kind() != "conv") continue;
    if (tower.activation() == v1::ACTIVATION_UNSPECIFIED) {
      tower.set_activation(model.activation());
    }
    if (tower.dropout() == 0) tower.set_dropout(model.dropout());
    if (model.batch_norm()) tower.set_batch_norm(true);
  }
}

absl::Status CheckOutputs(const v1::ModelSpec& model) {
  const bool softmax = model.loss() == v1::LOSS_SOFTMAX;
  if (softmax && model.outputs() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.outputs: a softmax needs the number of classes, at least 2, not ", model.outputs()));
  }
  if (!softmax && model.outputs() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.outputs: ", model.outputs(), " need the softmax loss; this one has 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpandPreset(v1::ModelSpec& model) {
  if (model.towers().empty() && model.user().empty()) {
    if (model.preset().empty()) {
      return absl::InvalidArgumentError("model: neither a preset nor a tower");
    }
    CAPSTAN_RETURN_IF_ERROR(AddTowers(model));
  }
  SetLayers(model);
  CAPSTAN_RETURN_IF_ERROR(NameTowers(model));
  if (model.outputs() == 0) model.set_outputs(1);
  model.set_loss(LossOfModel(model));
  if (model.embedding_stddev() == 0) model.set_embedding_stddev(0.01f);
  if (model.embedding_learning_rate_scale() == 0) model.set_embedding_learning_rate_scale(1);
  return CheckOutputs(model);
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const auto& [name, preset] : Presets()) names.push_back(name);
  return names;
}

}  // namespace capstan
