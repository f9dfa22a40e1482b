// A request for scores: read as records, or refused with INVALID_ARGUMENT and a message.
#include "capstan/base/check.h"
#include "capstan/inference/inference.h"
#include "cli/serve/served_inputs.h"
#include "tests/fuzz/fuzz.h"

namespace {

// A label, a shop, a price, what was seen.
capstan::v1::JobSpec Job() {
  capstan::v1::JobSpec job;
  capstan::v1::DataSpec& data = *job.mutable_data();
  data.set_format(capstan::v1::DATA_FORMAT_CSV);
  data.set_columns(4);
  data.set_numeric_scale(1);
  data.set_fields(1);
  data.set_dense_width(1);
  data.add_categorical()->set_column(1);
  data.add_numeric()->set_column(2);
  capstan::v1::FeatureSpec& seen = *data.add_features();
  seen.set_name("seen");
  seen.set_column(3);
  seen.set_many(true);
  seen.set_most(10);
  job.mutable_model()->set_loss(capstan::v1::LOSS_LOGISTIC);
  job.mutable_model()->set_outputs(1);
  return job;
}

void CheckRefusal(const absl::Status& status) {
  CAPSTAN_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CAPSTAN_CHECK(!status.message().empty());
}

}  // namespace

void Fuzz(std::string_view input) {
  static const capstan::cli::ServedInputs& inputs = *new capstan::cli::ServedInputs(Job());
  const auto request = capstan::ParseInferRequest(input);
  if (!request.ok()) return CheckRefusal(request.status());
  const auto batch = inputs.Read(*request);
  if (!batch.ok()) return CheckRefusal(batch.status());
  CAPSTAN_CHECK(batch->offsets.size() == batch->examples() + 1);
  CAPSTAN_CHECK(batch->keys.size() == batch->examples());
  CAPSTAN_CHECK(batch->examples() == 0 ||
                batch->features[0].offsets.size() == batch->examples() + 1);
  CAPSTAN_CHECK(batch->dense.size() == batch->examples());
}
