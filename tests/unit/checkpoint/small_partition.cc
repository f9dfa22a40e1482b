#include "tests/unit/checkpoint/small_partition.h"

#include <utility>
#include <vector>

#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/checkpoint/partition_pack.h"

namespace capstan {
namespace {

void AddTable(v1::JobSpec& job, uint32_t id, v1::OptimizerKind kind) {
  v1::TableSpec* table = job.add_tables();
  table->set_id(id);
  table->set_name("table" + std::to_string(id));
  table->set_dim(2);
  table->set_seed(id);
  table->set_admission_count(2);
  table->add_segments()->set_width(2);
  table->mutable_segments(0)->set_learning_rate_scale(1);
  table->mutable_optimizer()->set_kind(kind);
  table->mutable_optimizer()->set_learning_rate(0.5f);
  table->mutable_optimizer()->set_beta1(0.5f);
  table->mutable_optimizer()->set_beta2(0.75f);
  table->mutable_optimizer()->set_epsilon(1);
}

void AddTensor(v1::JobSpec& job, const char* name, uint32_t width) {
  v1::TensorSpec* tensor = job.add_tensors();
  tensor->set_name(name);
  tensor->add_shape(width);
  tensor->mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_MOMENTUM);
  tensor->mutable_optimizer()->set_learning_rate(0.5f);
  tensor->mutable_optimizer()->set_momentum(0.5f);
}

void Push(Table& table, const std::vector<uint64_t>& keys) {
  const std::vector<float> values(keys.size() * 2, 1.5f);
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  table.Apply({&gradient, 1}, {.progress_examples = 2048});
}

}  // namespace

v1::JobSpec SmallJob() {
  v1::JobSpec job;
  job.set_job("small");
  job.set_seed(7);
  job.set_partition_count(2);
  AddTable(job, 1, v1::OPTIMIZER_KIND_ADAM);
  AddTable(job, 4, v1::OPTIMIZER_KIND_SGD);
  AddTensor(job, "w", 5);
  AddTensor(job, "b", 3);
  return job;
}

DenseLayout LayoutOf(const v1::JobSpec& job) {
  return *DenseLayout::Create(job.tensors(), job.partition_count());
}

std::unique_ptr<PartitionStore> SmallPartition(uint64_t rows) {
  const v1::JobSpec job = SmallJob();
  auto store = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex{1});
  Table& table = *store->FindTable(TableId{1});
  std::vector<uint64_t> keys(rows);
  for (uint64_t i = 0; i < rows; ++i) keys[i] = i * 1000 + 1;
  Push(table, keys);
  Push(table, keys);
  Push(table, {77});  // A candidate.
  const BlockId block = store->blocks().blocks()[0].id;
  const std::vector<float> gradient = {1, 2, 3};
  store->blocks().Apply(block, {{.values = gradient, .pulled = {}, .weight = 1}}, {});
  return store;
}

std::string EncodedSmallPartition(uint64_t rows) {
  return EncodePartition(
      *SmallPartition(rows),
      {.partition_count = 2, .timeline = 5, .machine = {.version = 2, .bytes = "ledger"}});
}

std::string EncodedSmallDelta() {
  const auto store = SmallPartition();
  store->Mark(/*changes_only=*/false);
  store->SettleMark(/*safe=*/true);
  Push(*store->FindTable(TableId{1}), {1001, 78});
  return EncodePartition(*store, {.partition_count = 2,
                                  .timeline = 5,
                                  .machine = {.version = 2, .bytes = "ledger"},
                                  .parent = "100-a"});
}

v1::SavedFile PutPartial(ObjectStore& folder, PartitionIndex partition, std::string encoded,
                         uint64_t rows) {
  Threads threads;
  PartitionPack pack(folder, threads);
  CAPSTAN_CHECK(pack.Begin(partition).ok() && pack.Append(std::move(encoded)).ok() &&
                pack.End(rows, /*delta=*/false).ok());
  return pack.Commit()->front();
}

v1::Manifest SmallManifest() {
  v1::Manifest manifest;
  manifest.set_id("200-b");
  manifest.set_step(200);
  manifest.set_timeline(5);
  manifest.set_parent("100-a");
  *manifest.mutable_job() = SmallJob();
  for (uint32_t i = 0; i < 2; ++i) {
    v1::SavedFile& file = *manifest.add_files();
    file.set_partition(i);
    file.set_name(i == 0 ? "partition-0000.capstan" : "partition-0001.capstan");
    file.set_bytes(1000 + i);
    file.set_crc32c(0xC0FFEE00 + i);
    file.set_delta(i == 1);
  }
  manifest.mutable_progress()->set_examples(204'800);
  (*manifest.mutable_metrics())["auc"] = 0.75;
  manifest.set_written_by("capstan 0.1.0");
  manifest.set_created_unix_seconds(1'800'000'000);
  return manifest;
}

v1::Manifest SmallManifestOfOneObject() {
  v1::Manifest manifest = SmallManifest();
  for (v1::SavedFile& file : *manifest.mutable_files()) {
    file.set_name("partition-0000.capstan");
    file.set_object_bytes(2001);
  }
  manifest.mutable_files(1)->set_offset(1000);
  return manifest;
}

}  // namespace capstan
