// Trains a job in one process, without chief, shards or workers: the same data, model and
// parameters, one batch after the other. The reference for the quality of distributed runs.
//
//   local_train job.yaml [key=value ...]      e.g. train.epochs=5
//   optimizer.sparse.learning_rate=0.1
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/data/formats/deduplicate.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/model/layout.h"
#include "capstan/model/metrics.h"
#include "capstan/model/network.h"
#include "capstan/store/partition_store.h"

namespace capstan {
namespace {

// All parameters of the job in one partition.
class LocalParameters {
 public:
  static absl::StatusOr<LocalParameters> Create(v1::JobSpec job) {
    job.set_partition_count(1);
    CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout, DenseLayout::Create(job.tensors(), 1));
    CAPSTAN_ASSIGN_OR_RETURN(auto store, PartitionStore::Create(job, layout, PartitionIndex{0}));
    return LocalParameters(std::move(store), layout.flat_size());
  }

  std::span<const float> Dense() {
    for (const Block& block : store_->blocks().blocks()) {
      const auto weights = store_->blocks().Weights(block.id);
      std::copy(weights.begin(), weights.end(), dense_.begin() + block.flat_offset);
    }
    return dense_;
  }

  std::span<const float> Rows(const std::vector<uint64_t>& keys) {
    if (table() == nullptr) return {};
    rows_.resize(keys.size() * table()->dim());
    table()->Pull(keys, rows_.data());
    return rows_;
  }

  void Apply(const std::vector<uint64_t>& keys, const NetworkGradients& gradients,
             uint64_t progress) {
    const UpdateContext context = {.progress_examples = progress};
    if (table() != nullptr) {
      const RowGradients rows = {
          .keys = keys, .values = {gradients.rows.data(), gradients.rows.size()}, .pulled = {}};
      table()->Apply({&rows, 1}, context);
    }
    for (const Block& block : store_->blocks().blocks()) {
      const BlockGradient gradient = {
          .values = {gradients.parameters.data() + block.flat_offset, block.length}, .pulled = {}};
      store_->blocks().Apply(block.id, {&gradient, 1}, context);
    }
  }

 private:
  LocalParameters(std::unique_ptr<PartitionStore> store, uint64_t dense)
      : store_(std::move(store)), dense_(dense) {}
  Table* table() { return store_->FindTable(TableId{0}); }

  std::unique_ptr<PartitionStore> store_;
  std::vector<float> dense_, rows_;
};

class LocalTrainer {
 public:
  static absl::StatusOr<std::unique_ptr<LocalTrainer>> Create(v1::JobSpec job) {
    auto trainer = std::unique_ptr<LocalTrainer>(new LocalTrainer(std::move(job)));
    CAPSTAN_RETURN_IF_ERROR(trainer->Prepare());
    return trainer;
  }

  absl::Status Run() {
    for (uint32_t epoch = 0; epoch < job_.train().epochs(); ++epoch) {
      CAPSTAN_RETURN_IF_ERROR(TrainEpoch(epoch));
      CAPSTAN_RETURN_IF_ERROR(Evaluate(epoch));
    }
    return absl::OkStatus();
  }

 private:
  explicit LocalTrainer(v1::JobSpec job) : job_(std::move(job)) {}

  absl::Status Prepare() {
    CAPSTAN_RETURN_IF_ERROR(DeriveDataSpec(*files_, *job_.mutable_data()));
    CAPSTAN_RETURN_IF_ERROR(LayOutModel(job_));
    if (!job_.data().features().empty()) {
      return absl::InvalidArgumentError("data.features: this program trains jobs of one table");
    }
    const uint32_t batch_size = job_.train().batch_size();
    CAPSTAN_ASSIGN_OR_RETURN(train_, PlanTasks(*files_, job_.data(), {Split::kTrain, batch_size}));
    CAPSTAN_ASSIGN_OR_RETURN(eval_, PlanTasks(*files_, job_.data(), {Split::kEval, batch_size}));
    CAPSTAN_ASSIGN_OR_RETURN(network_, Network::Create(job_));
    CAPSTAN_ASSIGN_OR_RETURN(auto parameters, LocalParameters::Create(job_));
    parameters_ = std::make_unique<LocalParameters>(std::move(parameters));
    reader_ = std::make_unique<TaskReader>(ReaderOptionsOf(job_), *files_);
    return absl::OkStatus();
  }

  // Reads the next batch with its parameters.
  NetworkInput Load(const LoadedTask& task, uint64_t k) {
    CAPSTAN_CHECK(task.ReadBatch(k, batch_).ok());
    deduplicator_.Run(batch_.keys, keys_);
    return {.labels = batch_.labels,
            .offsets = batch_.offsets,
            .index = keys_.index,
            .values = batch_.values,
            .dense = batch_.dense,
            .rows = parameters_->Rows(keys_.unique),
            .parameters = parameters_->Dense(),
            .draw = progress_};
  }

  absl::Status TrainEpoch(uint32_t epoch) {
    std::vector<v1::Task> tasks = train_.Tasks();
    if (job_.data().shuffle()) {
      std::sort(tasks.begin(), tasks.end(), [&](const v1::Task& a, const v1::Task& b) {
        return Draw(job_.seed(), epoch, a.index()) < Draw(job_.seed(), epoch, b.index());
      });
    }
    const auto start = std::chrono::steady_clock::now();
    double loss = 0;
    const uint64_t before = progress_;
    for (const v1::Task& task : tasks) {
      CAPSTAN_ASSIGN_OR_RETURN(const auto loaded, reader_->Read({task, epoch, false}));
      for (uint64_t k = 0; k < loaded->batch_count(); ++k) {
        const NetworkGradients gradients = network_->ForwardBackward(Load(*loaded, k));
        loss += gradients.loss_sum;
        parameters_->Apply(keys_.unique, gradients, progress_);
        progress_ += batch_.examples();
      }
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double examples = static_cast<double>(progress_ - before);
    std::printf("epoch %u  train loss %.4f  %.0f examples/s", epoch + 1, loss / examples,
                examples / seconds.count());
    return absl::OkStatus();
  }

  absl::Status Evaluate(uint32_t epoch) {
    v1::EvaluationResult sums;
    for (const v1::Task& task : eval_.Tasks()) {
      CAPSTAN_ASSIGN_OR_RETURN(const auto loaded, reader_->Read({task, epoch, true}));
      for (uint64_t k = 0; k < loaded->batch_count(); ++k) {
        const NetworkInput input = Load(*loaded, k);
        AddToEvaluation(
            {job_.model().loss(), network_->outputs(), network_->Forward(input), input.labels},
            sums);
      }
    }
    for (const auto& [name, value] : MetricsOf(job_.model().loss(), sums)) {
      std::printf("  %s %.4f", name.c_str(), value);
    }
    std::printf("\n");
    std::fflush(stdout);
    return absl::OkStatus();
  }

  v1::JobSpec job_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  TaskRanges train_, eval_;
  std::unique_ptr<TaskReader> reader_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<LocalParameters> parameters_;
  uint64_t progress_ = 0;  // Examples trained.
  Deduplicator deduplicator_;
  UniqueKeys keys_;
  Batch batch_;
};

absl::Status Main(int argc, char** argv) {
  if (argc < 2) return absl::InvalidArgumentError("usage: local_train job.yaml [key=value ...]");
  JobOptions options;
  options.overrides.assign(argv + 2, argv + argc);
  options.default_lanes = 1;
  CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec job, LoadJob(argv[1], options));
  CAPSTAN_ASSIGN_OR_RETURN(const auto trainer, LocalTrainer::Create(std::move(job)));
  return trainer->Run();
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const absl::Status status = capstan::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
