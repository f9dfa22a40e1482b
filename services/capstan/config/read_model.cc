#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "capstan/config/sections.h"

namespace capstan {
namespace {

// Reads the settings of hidden layers. Left unset where the job says nothing, as they are in jobs
// that were stored before these settings existed.
template <typename Spec>
void ReadLayers(Section& in, Spec& out) {
  out.set_activation(in.OneOf<v1::Activation>("activation"));
  out.set_dropout(static_cast<float>(in.Number("dropout")));
  out.set_batch_norm(in.Flag("batch_norm"));
}

// Kinds of towers are checked by capstan/model, to which users can add their own.
void ReadTower(Section& in, v1::TowerSpec& out) {
  out.set_kind(in.Text("kind"));
  if (out.kind().empty()) in.Refuse("kind", "is missing; expected a tower, such as mlp");
  out.set_name(in.Text("name", out.kind()));
  for (const uint64_t width : in.Wholes("hidden")) out.add_hidden(width);
  out.set_layers(in.Whole("layers"));
  ReadLayers(in, out);
}

bool HasHiddenLayers(const v1::ModelSpec& model) {
  constexpr absl::string_view kNone[] = {"lr", "fm", "mf", "softmax"};
  return std::find(std::begin(kNone), std::end(kNone), model.preset()) == std::end(kNone);
}

}  // namespace

void ReadModel(Section& in, v1::ModelSpec& out) {
  out.set_user(in.Text("user"));
  const KeyChoice* const preset = in.Chosen("preset");
  if (preset != nullptr) out.set_preset(std::string(preset->name));
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
  out.set_embedding_dim(in.Whole("embedding_dim"));
  for (const uint64_t width : in.Wholes("hidden")) out.add_hidden(width);
  out.set_cross_layers(in.Whole("cross_layers"));
  ReadLayers(in, out);
  for (const char* key : {"activation", "dropout", "batch_norm"}) {
    if (in.Has(key) && !HasHiddenLayers(out)) {
      in.Refuse(key, "is for hidden layers, and this preset has none");
    }
  }
  out.set_loss(in.OneOf<v1::Loss>("loss"));
  out.set_outputs(in.Whole("outputs"));
  out.set_embedding_stddev(static_cast<float>(in.Number("embedding_stddev")));
  out.set_embedding_learning_rate_scale(
      static_cast<float>(in.Number("embedding_learning_rate_scale")));
}

void ReadTable(Section& in, v1::TableLimits& out) {
  out.set_admission_count(static_cast<uint32_t>(in.Whole("admission_count")));
  out.set_expire_after_examples(in.Whole("expire_after_examples"));
  out.set_byte_budget(in.Bytes("byte_budget"));
}

}  // namespace capstan
