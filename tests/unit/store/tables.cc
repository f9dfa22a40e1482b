#include "tests/unit/store/tables.h"

namespace capstan {

v1::TableSpec SgdTable(uint32_t dim) {
  v1::TableSpec spec;
  spec.set_name("test");
  spec.set_dim(dim);
  spec.set_seed(42);
  v1::TableSegment* segment = spec.add_segments();
  segment->set_name("all");
  segment->set_width(dim);
  segment->set_learning_rate_scale(1);
  spec.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  spec.mutable_optimizer()->set_learning_rate(1);
  return spec;
}

v1::TableSpec WithInitializer(v1::TableSpec spec, v1::InitializerKind kind, float scale) {
  spec.mutable_segments(0)->mutable_initializer()->set_kind(kind);
  spec.mutable_segments(0)->mutable_initializer()->set_scale(scale);
  return spec;
}

v1::TableSpec WithOptimizer(v1::TableSpec spec, v1::OptimizerKind kind) {
  v1::OptimizerSpec* optimizer = spec.mutable_optimizer();
  optimizer->set_kind(kind);
  optimizer->set_learning_rate(0.1f);
  optimizer->set_epsilon(1e-8f);
  optimizer->set_initial_accumulator(0.1f);
  optimizer->set_momentum(0.9f);
  optimizer->set_beta1(0.9f);
  optimizer->set_beta2(0.99f);
  optimizer->set_decay(0.9f);
  optimizer->set_learning_rate_power(-0.5f);
  return spec;
}

std::unique_ptr<Table> MakeTable(const v1::TableSpec& spec) {
  return *Table::Create(spec, /*partition_count=*/1);
}

std::vector<float> PullRows(const Table& table, const std::vector<uint64_t>& keys) {
  std::vector<float> values(keys.size() * table.dim());
  table.Pull(keys, values.data());
  return values;
}

void Push(Table& table, const std::vector<uint64_t>& keys, const std::vector<float>& values,
          const UpdateContext& context) {
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  table.Apply({&gradient, 1}, context);
}

void PushOnes(Table& table, const std::vector<uint64_t>& keys, uint64_t progress_examples) {
  Push(table, keys, std::vector<float>(keys.size() * table.dim(), -1),
       {.progress_examples = progress_examples});
}

std::vector<uint64_t> Keys(const Table& table) {
  std::vector<uint64_t> keys;
  table.ForEachRow([&](const RowState& row) { keys.push_back(row.key); });
  return keys;
}

}  // namespace capstan
