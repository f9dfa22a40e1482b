#include "capstan/plan/step_time.h"

#include <algorithm>
#include <cmath>

#include "capstan/optim/optimizer_description.h"
#include "capstan/plan/memory.h"

namespace capstan {
namespace {

// What one batch needs of each resource in one stage.
struct Work {
  double worker_cpu = 0;  // Seconds.
  double shard_cpu = 0;   // The CPU time of the busiest shard.
  double shards_cpu = 0;  // The CPU time of all shards together.
  double worker_bytes = 0;
  double shard_bytes = 0;  // The bytes of the busiest shard.
  double calls = 1;        // Calls to the busiest shard.
};

// How many batches are under way at once: in all, of each worker, and of each trainer.
struct Crowd {
  double batches = 1;
  double of_worker = 1;
  double of_trainer = 1;
};

double CpuSeconds(double bytes, const Share& share, double byte, double row, double call) {
  return bytes * byte + static_cast<double>(share.rows) * row +
         static_cast<double>(share.calls) * call;
}

Work TransferOf(const Traffic& traffic, uint64_t Share::*bytes, const Ends& byte, const Ends& row,
                const Ends& call) {
  const auto worker = static_cast<double>(traffic.worker.*bytes);
  const auto busiest = static_cast<double>(traffic.busiest.*bytes);
  return {.worker_cpu = CpuSeconds(worker, traffic.worker, byte.worker_seconds, row.worker_seconds,
                                   call.worker_seconds),
          .shard_cpu = CpuSeconds(busiest, traffic.busiest, byte.shard_seconds, row.shard_seconds,
                                  call.shard_seconds),
          .shards_cpu = CpuSeconds(worker, traffic.worker, byte.shard_seconds, row.shard_seconds,
                                   call.shard_seconds),
          .worker_bytes = worker,
          .shard_bytes = busiest,
          .calls = std::max(1.0, static_cast<double>(traffic.busiest.calls))};
}

// Returns the work of a push with replicas: a shard sends what is pushed to it on to its backup,
// and receives as much as a backup itself.
Work SentOn(Work push) {
  push.shard_cpu *= 2;
  push.shards_cpu *= 2;
  push.shard_bytes *= 2;
  return push;
}

Work PushOf(const v1::JobSpec& job, const Traffic& traffic, int shards, const Rates& rates) {
  const Work push =
      TransferOf(traffic, &Share::pushed_bytes, rates.pushed_byte, rates.pushed_row, rates.call);
  return IsHeldTwice(job, shards) ? SentOn(push) : push;
}

double AppliedFloat(const v1::OptimizerSpec& optimizer, const Rates& rates) {
  const auto found = rates.applied.find(OptimizerName(optimizer.kind()));
  return found == rates.applied.end() ? rates.applied_float : found->second;
}

double RowFloats(const v1::JobSpec& job, const Share& share) {
  double floats = 0;
  for (const v1::TableSpec& table : job.tables()) floats = std::max<double>(floats, table.dim());
  return floats * static_cast<double>(share.rows);
}

// Returns the seconds of a shard's core for one update with one gradient.
double ApplySeconds(const v1::JobSpec& job, const Share& share, const Rates& rates) {
  return static_cast<double>(share.floats) * AppliedFloat(job.dense_optimizer(), rates) +
         RowFloats(job, share) * AppliedFloat(job.sparse_optimizer(), rates);
}

// Returns the seconds of a shard's core to add one gradient to others.
double AddSeconds(const v1::JobSpec& job, const Share& share, const Rates& rates) {
  return (static_cast<double>(share.floats) + RowFloats(job, share)) * rates.added_float;
}

// Returns how many gradients are applied together: those of a round, or `aggregate` of them.
double AppliedTogether(const v1::JobSpec& job) {
  const auto once = [](const v1::UpdatePolicy& policy) { return std::max(1u, policy.aggregate()); };
  return LanesOf(job) > 0 ? static_cast<double>(LanesOf(job))
                          : std::max(once(job.dense_update()), once(job.sparse_update()));
}

// Returns the seconds of a shard's core for one gradient, with its part of the update.
double UpdateSeconds(const v1::JobSpec& job, const Share& share, const Rates& rates) {
  const double together = AppliedTogether(job);
  const double apply = ApplySeconds(job, share, rates) / together;
  return together > 1 ? AddSeconds(job, share, rates) + apply : apply;
}

// Computes the times of the parts of the stages.
class Stages {
 public:
  const Work pull;
  Work push;

  Stages(const v1::JobSpec& job, const Traffic& traffic, const Scale& scale, const Rates& rates,
         const BatchTime& batch)
      : pull(TransferOf(traffic, &Share::pulled_bytes, rates.pulled_byte, rates.pulled_row,
                        rates.call)),
        push(PushOf(job, traffic, scale.shards, rates)),
        scale_(scale),
        trainers_(job.train().compute_threads()),
        step_threads_(std::max(1u, job.train().step_threads())),
        batch_(batch),
        latency_(rates.call_seconds) {}

  double Transfer(const Work& work, const Crowd& crowd) const {
    return std::max(Alone(work), latency_ + std::max({WorkerCpu(work, crowd), ShardCpu(work, crowd),
                                                      MachineCpu(work, crowd),
                                                      Network(work.worker_bytes, crowd.of_worker),
                                                      Network(work.shard_bytes, crowd.batches)}));
  }

  // Returns the seconds of one batch if nothing else is under way. A call passes the worker, the
  // network and the shard one after the other, and each of them handles the next call meanwhile.
  double Alone(const Work& work) const {
    const double network = Network(std::max(work.worker_bytes, work.shard_bytes), 1);
    const double all = work.worker_cpu + work.shard_cpu + network;
    const double longest = std::max({work.worker_cpu, work.shard_cpu, network});
    return latency_ + longest + (all - longest) / work.calls;
  }

  double Compute(const Crowd& crowd) const {
    const double cores = scale_.one_machine ? crowd.batches : crowd.of_worker;
    return std::max(
        {crowd.of_trainer * batch_.compute_seconds, crowd.of_trainer * batch_.read_seconds,
         cores * (batch_.compute_seconds * step_threads_ + batch_.read_seconds) / scale_.cores});
  }

  // A trainer's calls are made by one thread.
  double WorkerCpu(const Work& work, const Crowd& crowd) const {
    return std::max(crowd.of_trainer, crowd.of_worker / scale_.cores) * work.worker_cpu;
  }
  double ShardCpu(const Work& work, const Crowd& crowd) const {
    return scale_.one_machine ? 0 : crowd.batches * work.shard_cpu / scale_.cores;
  }
  double MachineCpu(const Work& work, const Crowd& crowd) const {
    if (!scale_.one_machine) return 0;
    return crowd.batches * (work.worker_cpu + work.shards_cpu) / scale_.cores;
  }
  double Network(double bytes, double times) const {
    return scale_.one_machine ? 0 : times * bytes / scale_.network_bytes_per_second;
  }
  // Returns the total seconds of the machine's cores that the batches take, with `more` seconds of
  // the shards per batch.
  double Machine(const Crowd& crowd, double more) const {
    if (!scale_.one_machine) return 0;
    return MachineCpu(pull, crowd) + MachineCpu(push, crowd) +
           crowd.batches * (batch_.compute_seconds * step_threads_ + batch_.read_seconds + more) /
               scale_.cores;
  }

  double trainers() const { return trainers_; }

 private:
  const Scale& scale_;
  const double trainers_;
  const double step_threads_;
  const BatchTime& batch_;
  const double latency_;
};

std::vector<Load> Longest(std::vector<Load> loads) {
  std::erase_if(loads, [](const Load& load) { return load.seconds <= 0; });
  std::stable_sort(loads.begin(), loads.end(),
                   [](const Load& a, const Load& b) { return a.seconds > b.seconds; });
  return loads;
}

// Returns the loads if one stage follows the other, so that sending and receiving add up.
std::vector<Load> LoadsOf(const Stages& stages, const Crowd& crowd, double shard_seconds,
                          double machine_seconds) {
  const auto both = [&](double Work::*bytes, double times) {
    return stages.Network(stages.pull.*bytes + stages.push.*bytes, times);
  };
  return {{"computing on the workers", stages.Compute(crowd)},
          {"the network of the shards", both(&Work::shard_bytes, crowd.batches)},
          {"the network of the workers", both(&Work::worker_bytes, crowd.of_worker)},
          {"the cores of the shards", stages.ShardCpu(stages.pull, crowd) +
                                          stages.ShardCpu(stages.push, crowd) + shard_seconds},
          {"the calls of the workers",
           stages.WorkerCpu(stages.pull, crowd) + stages.WorkerCpu(stages.push, crowd)},
          {"the cores of the machine", machine_seconds}};
}

Pace SyncPace(const v1::JobSpec& job, const Traffic& traffic, const Scale& scale,
              const Rates& rates, const BatchTime& batch) {
  Stages stages(job, traffic, scale, rates, batch);
  stages.push.shard_cpu += AddSeconds(job, traffic.busiest, rates);
  stages.push.shards_cpu += AddSeconds(job, traffic.worker, rates);
  const auto lanes = static_cast<double>(LanesOf(job));
  const auto held = static_cast<double>(LanesOfATrainer(job, scale));
  const Crowd crowd{
      .batches = lanes, .of_worker = std::min(lanes, held * stages.trainers()), .of_trainer = held};
  const double pull = stages.Transfer(stages.pull, crowd);
  const double push = stages.Transfer(stages.push, crowd);
  StepTime step{.compute = stages.Compute(crowd)};
  // The pull of the first lane and the push of the last one do not overlap with anything.
  const double rest = 1 - 1 / held;
  const double ends = std::max(pull / held, stages.Alone(stages.pull)) +
                      std::max(push / held, stages.Alone(stages.push));
  const double visible = ends + rest * (std::max(step.compute, pull + push) - step.compute);
  const double pulled = pull + push > 0 ? pull / (pull + push) : 0;
  step.pull = visible * pulled;
  step.push = visible * (1 - pulled);
  const Share& applied = scale.one_machine ? traffic.worker : traffic.busiest;
  step.apply = ApplySeconds(job, applied, rates) / scale.cores;
  const uint32_t backup =
      std::max(job.dense_update().backup_workers(), job.sparse_update().backup_workers());
  const uint64_t counted = LanesOf(job) > backup ? LanesOf(job) - backup : 1;
  step.wait =
      std::max(0.0, NormalRank(counted, LanesOf(job))) * std::sqrt(held) * batch.deviation_seconds;
  const double machine = stages.Machine(crowd, 0) + (scale.one_machine ? step.apply : 0);
  step.wait += std::max(0.0, machine - step.total());
  std::vector<Load> loads = LoadsOf(stages, crowd, scale.one_machine ? 0 : step.apply, machine);
  loads.push_back({"waiting for the slowest worker", step.wait});
  return {.step = step,
          .loads = Longest(std::move(loads)),
          .batches_per_second = static_cast<double>(counted) / step.total()};
}

Pace FreePace(const v1::JobSpec& job, const Traffic& traffic, const Scale& scale,
              const Rates& rates, const BatchTime& batch) {
  const Stages stages(job, traffic, scale, rates, batch);
  const auto apply = [&](const Share& share) { return UpdateSeconds(job, share, rates); };
  const Crowd one;
  StepTime step{.compute = stages.Compute(one)};
  const double pull = stages.Transfer(stages.pull, one);
  const double push = stages.Transfer(stages.push, one);
  const double applying = apply(traffic.busiest);
  const double transfer = pull + push + applying;
  const double visible = transfer > 0 ? std::max(0.0, transfer - step.compute) / transfer : 0;
  step.pull = visible * pull;
  step.push = visible * push;
  step.apply = visible * applying;
  const double trainers = stages.trainers() * scale.workers;
  const Crowd all{.batches = trainers, .of_worker = stages.trainers(), .of_trainer = 1};
  const double shard = scale.one_machine ? 0 : trainers * apply(traffic.busiest) / scale.cores;
  std::vector<Load> loads = LoadsOf(stages, all, shard, stages.Machine(all, apply(traffic.worker)));
  // Here sending and receiving happen at the same time.
  const auto longer = [](double Work::*bytes, const Stages& of) {
    return std::max(of.pull.*bytes, of.push.*bytes);
  };
  loads[1].seconds = stages.Network(longer(&Work::shard_bytes, stages), all.batches);
  loads[2].seconds = stages.Network(longer(&Work::worker_bytes, stages), all.of_worker);
  loads = Longest(std::move(loads));
  step.wait = std::max(0.0, loads.front().seconds - step.total());
  return {.step = step, .loads = std::move(loads), .batches_per_second = trainers / step.total()};
}

}  // namespace

double NormalRank(uint64_t rank, uint64_t count) {
  const double share = (static_cast<double>(rank) - 0.375) / (static_cast<double>(count) + 0.25);
  double low = -10;
  double high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

Ends CpuOfTransfers(const v1::JobSpec& job, const Traffic& traffic, int shards,
                    const Rates& rates) {
  const Work pull =
      TransferOf(traffic, &Share::pulled_bytes, rates.pulled_byte, rates.pulled_row, rates.call);
  const Work push = PushOf(job, traffic, shards, rates);
  return {.worker_seconds = pull.worker_cpu + push.worker_cpu,
          .shard_seconds =
              pull.shards_cpu + push.shards_cpu + UpdateSeconds(job, traffic.worker, rates)};
}

Pace PaceOf(const v1::JobSpec& job, const Traffic& traffic, const Scale& scale, const Rates& rates,
            const BatchTime& batch) {
  return LanesOf(job) > 0 ? SyncPace(job, traffic, scale, rates, batch)
                          : FreePace(job, traffic, scale, rates, batch);
}

}  // namespace capstan
