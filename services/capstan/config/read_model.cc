#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "capstan/config/sections.h"

namespace capstan {
namespace {

constexpr uint64_t kMaxWidth = 65536;

constexpr Choice<absl::string_view> kPresets[] = {
    {"lr", "lr"},         {"fm", "fm"},         {"wide_deep", "wide_deep"},
    {"deepfm", "deepfm"}, {"dcn_v2", "dcn_v2"}, {"dlrm", "dlrm"},
    {"mf", "mf"},         {"mlp", "mlp"},       {"softmax", "softmax"},
    {"cnn", "cnn"},
};

constexpr Choice<v1::Loss> kLosses[] = {
    {"logistic", v1::LOSS_LOGISTIC},
    {"softmax", v1::LOSS_SOFTMAX},
    {"squared", v1::LOSS_SQUARED},
};

constexpr Choice<v1::Activation> kActivations[] = {
    {"relu", v1::ACTIVATION_RELU},       {"tanh", v1::ACTIVATION_TANH},
    {"sigmoid", v1::ACTIVATION_SIGMOID}, {"gelu", v1::ACTIVATION_GELU},
    {"silu", v1::ACTIVATION_SILU},       {"leaky_relu", v1::ACTIVATION_LEAKY_RELU},
    {"elu", v1::ACTIVATION_ELU},
};

// Reads the settings of hidden layers. Left unset where the job says nothing, as they are in jobs
// that were stored before these settings existed.
template <typename Spec>
void ReadLayers(Section& in, Spec& out) {
  out.set_activation(
      in.OneOf<v1::Activation>("activation", kActivations, v1::ACTIVATION_UNSPECIFIED));
  out.set_dropout(static_cast<float>(in.Number("dropout", {.max = 0.95}, 0)));
  out.set_batch_norm(in.Flag("batch_norm", false));
}

// Kinds of towers are checked by capstan/model, to which users can add their own.
void ReadTower(Section& in, v1::TowerSpec& out) {
  out.set_kind(in.Text("kind"));
  in.Require("kind");
  if (out.kind().empty()) in.Refuse("kind", "is missing; expected a tower, such as mlp");
  out.set_name(in.Text("name", out.kind()));
  for (const uint64_t width : in.Wholes("hidden", {.min = 1, .max = kMaxWidth})) {
    out.add_hidden(width);
  }
  out.set_layers(in.Whole("layers", {.min = 1, .max = 64}, 0));
  ReadLayers(in, out);
  for (const std::string key : {"activation", "dropout", "batch_norm"}) {
    in.DefaultIs(key, "`model." + key + "`");
  }
  in.DefaultIs("name", "the kind");
  for (const absl::string_view key : {"hidden", "layers"}) in.DefaultIs(key, "of the kind");
}

bool HasHiddenLayers(const v1::ModelSpec& model) {
  constexpr absl::string_view kNone[] = {"lr", "fm", "mf", "softmax"};
  return std::find(std::begin(kNone), std::end(kNone), model.preset()) == std::end(kNone);
}

}  // namespace

void ReadModel(Section& in, v1::ModelSpec& out) {
  out.set_user(in.Text("user"));
  out.set_preset(std::string(in.OneOf<absl::string_view>("preset", kPresets, "")));
  in.DefaultIs("preset", "required, or towers, or user");
  in.ForEach("towers", [&out](Section& tower) { ReadTower(tower, *out.add_towers()); });
  if (in.Has("preset") && in.Has("towers")) in.Refuse("towers", "cannot stand beside a preset");
  if (in.Has("user")) {
    for (const char* key :
         {"preset", "towers", "hidden", "cross_layers", "activation", "dropout", "batch_norm"}) {
      if (in.Has(key)) in.Refuse(key, "cannot stand beside user: the program has the layers");
    }
  } else if (!in.Has("preset") && !in.Has("towers")) {
    in.Refuse("preset",
              "is missing; expected a preset, such as deepfm, or towers, or user: a program");
  }
  out.set_embedding_dim(in.Whole("embedding_dim", {.min = 1, .max = 4096}, 16));
  for (const uint64_t width : in.Wholes("hidden", {.min = 1, .max = kMaxWidth})) {
    out.add_hidden(width);
  }
  out.set_cross_layers(in.Whole("cross_layers", {.min = 1, .max = 64}, 0));
  ReadLayers(in, out);
  in.DefaultIs("cross_layers", "3");
  in.DefaultIs("activation", "relu");
  for (const char* key : {"activation", "dropout", "batch_norm"}) {
    if (in.Has(key) && !HasHiddenLayers(out)) {
      in.Refuse(key, "is for hidden layers, and this preset has none");
    }
  }
  out.set_loss(in.OneOf<v1::Loss>("loss", kLosses, v1::LOSS_UNSPECIFIED));
  out.set_outputs(in.Whole("outputs", {.min = 1, .max = kMaxWidth}, 0));
  for (const absl::string_view key : {"hidden", "loss"}) in.DefaultIs(key, "of the preset");
  in.DefaultIs("outputs", "1; softmax: the named classes");
  out.set_embedding_stddev(
      static_cast<float>(in.Number("embedding_stddev", {.max = 100, .open = true}, 0.01)));
  out.set_embedding_learning_rate_scale(static_cast<float>(
      in.Number("embedding_learning_rate_scale", {.max = 1000, .open = true}, 1)));
}

void ReadTable(Section& in, const v1::TableLimits& fallback, v1::TableLimits& out) {
  out.set_admission_count(static_cast<uint32_t>(
      in.Whole("admission_count", {.min = 1, .max = 1000000}, fallback.admission_count())));
  out.set_expire_after_examples(
      in.Whole("expire_after_examples", {.min = 1}, fallback.expire_after_examples()));
  out.set_byte_budget(in.Bytes("byte_budget", {.min = 1 << 20}, fallback.byte_budget()));
}

}  // namespace capstan
