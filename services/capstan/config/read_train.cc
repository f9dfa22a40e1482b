#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "capstan/config/data_files.h"
#include "capstan/config/sections.h"

namespace capstan {
namespace {

void ReadEarlyStop(Section in, v1::EarlyStop& out) {
  out.set_metric(in.Text("metric"));
  out.set_patience(in.Whole("patience"));
  if (in.Has("patience") && !in.Has("metric")) {
    in.Refuse("metric", "is missing; expected one of auc, group_auc, logloss, accuracy, rmse, mae");
  }
}

}  // namespace

void ReadTrain(Section& in, bool program, v1::TrainSpec& out) {
  out.set_batch_size(in.Whole("batch_size"));
  out.set_epochs(in.Whole("epochs"));
  out.set_sum_loss(in.OneOf<bool>("gradient"));
  out.set_clip_norm(static_cast<float>(in.Number("clip_norm")));
  out.set_compute_threads(in.Whole("compute_threads"));
  out.set_step_threads(in.Whole("step_threads"));
  out.set_evaluate_every_examples(in.Whole("evaluate_every_examples"));
  ReadEarlyStop(in.Map("early_stop"), *out.mutable_early_stop());
  out.set_max_steps(in.Whole("max_steps"));
  out.set_wire_dtype(in.OneOf<v1::Dtype>("wire_dtype"));
  out.set_prefetch_batches(in.Whole("prefetch_batches"));
  out.set_push_window(in.Whole("push_window"));
  const double step_timeout = in.Seconds("step_timeout");
  if (program) out.set_step_timeout_seconds(step_timeout);
  if (!program && in.Has("step_timeout")) {
    in.Refuse("step_timeout", "is only for model.user, a program of your own");
  }
}

void ReadCheckpoint(Section& in, v1::CheckpointSpec& out) {
  out.set_uri(in.Text("uri"));
  if (absl::StrContains(out.uri(), "://") && !absl::StartsWith(out.uri(), "file:///") &&
      !IsObjectAddress(out.uri())) {
    in.Refuse("uri", "is not supported; expected a folder, file:///folder or s3://bucket/prefix");
  }
  const double every = in.Seconds("every");
  out.set_every_seconds(in.Has("every") || !out.uri().empty() ? every : 0);
  if (out.every_seconds() > 0 && out.every_seconds() < 1) {
    in.Refuse("every", "is less than a second; expected at least 1s, or 0s for none but the last");
  }
  out.set_keep(in.Whole("keep"));
  out.set_max_deltas(in.Whole("max_deltas"));
}

}  // namespace capstan
