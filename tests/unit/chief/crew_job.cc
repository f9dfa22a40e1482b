#include "tests/unit/chief/crew_job.h"

#include <vector>

namespace capstan::chief {
namespace {

v1::Task MakeTask(const std::string& file, uint32_t index) {
  v1::Task task;
  task.set_index(index);
  task.set_file(file);
  task.set_begin(index * kCrewBatchSize * kCrewBatches);
  task.set_end((index + 1) * kCrewBatchSize * kCrewBatches);
  task.set_by_records(true);
  task.set_expected_records(kCrewBatchSize * kCrewBatches);
  return task;
}

void SetPolicies(const CrewOptions& options, v1::JobSpec& spec) {
  spec.add_tables()->set_name("features");
  for (v1::UpdatePolicy* policy : {spec.mutable_dense_update(), spec.mutable_sparse_update()}) {
    policy->set_kind(options.lanes > 0 ? v1::POLICY_KIND_SYNC
                     : options.ssp     ? v1::POLICY_KIND_SSP
                                       : v1::POLICY_KIND_ASYNC);
    policy->set_lanes(options.lanes);
  }
  if (options.keys_a_batch > 0) spec.mutable_tables(0)->set_dim(16);
  spec.mutable_sparse_update()->set_aggregate(options.aggregate);
}

}  // namespace

JobPlan PlanOf(const CrewOptions& options) {
  JobPlan plan;
  plan.keys_a_batch = options.keys_a_batch;
  plan.spec.set_job("test");
  plan.spec.set_seed(1);
  plan.spec.set_partition_count(8);
  plan.spec.mutable_train()->set_batch_size(kCrewBatchSize);
  plan.spec.mutable_train()->set_epochs(options.epochs);
  plan.spec.mutable_train()->set_compute_threads(options.threads);
  plan.spec.mutable_train()->set_max_steps(options.max_steps);
  plan.spec.mutable_train()->set_evaluate_every_examples(options.evaluate_every);
  *plan.spec.mutable_train()->mutable_early_stop() = options.early_stop;
  plan.spec.mutable_data()->set_shuffle(options.shuffle);
  plan.spec.mutable_data()->set_max_bad_records(options.max_bad_records);
  plan.spec.mutable_lease()->set_data_stall_seconds(options.data_stall);
  plan.spec.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  plan.spec.mutable_lease()->set_heartbeat_seconds(1);
  plan.spec.mutable_lease()->set_worker_lease_seconds(10);
  plan.spec.mutable_lease()->set_shard_lease_seconds(options.shard_lease);
  plan.spec.set_replicas(options.replicas);
  plan.spec.mutable_checkpoint()->set_uri(options.uri);
  plan.spec.mutable_checkpoint()->set_every_seconds(options.checkpoint_every);
  plan.spec.mutable_checkpoint()->set_keep(options.keep);
  plan.spec.mutable_checkpoint()->set_max_deltas(options.max_deltas);
  plan.spec.set_recovery(options.partial ? v1::RECOVERY_PARTIAL : v1::RECOVERY_ROLLBACK);
  SetPolicies(options, plan.spec);
  if (options.dense_floats > 0) {
    v1::TensorSpec& tensor = *plan.spec.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(static_cast<uint32_t>(options.dense_floats));
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  }
  std::vector<v1::Task> train;
  for (uint32_t i = 0; i < options.tasks; ++i) train.push_back(MakeTask("train.csv", i));
  for (v1::Task& task : train) {
    if (!options.counted) task.clear_expected_records();
    task.set_by_records(!options.text);
  }
  plan.train = train;
  std::vector<v1::Task> eval;
  for (uint32_t i = 0; i < options.eval_tasks; ++i) eval.push_back(MakeTask(options.eval_file, i));
  plan.eval = eval;
  return plan;
}

JobHistory NewHistory(const CrewOptions& options) {
  JobHistory history;
  if (options.uri.empty()) return history;
  history.state.emplace().set_first_timeline(1);
  history.state->set_term(1);
  history.state->set_state(v1::JOB_STATE_PENDING);
  return history;
}

}  // namespace capstan::chief
