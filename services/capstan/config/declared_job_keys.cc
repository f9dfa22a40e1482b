#include <span>

#include "capstan/config/declared_keys.h"
#include "capstan/v1/job.pb.h"

namespace capstan {
namespace {

constexpr KeyChoice kRecoveries[] = {
    {"rollback", v1::RECOVERY_ROLLBACK},
    {"partial", v1::RECOVERY_PARTIAL},
    {"replica", v1::RECOVERY_REPLICA},
};

constexpr KeyChoice kRebalances[] = {{"manual", false}, {"auto", true}};

constexpr DeclaredKey kJobKeys[] = {
    {.key = "job",
     .values = TextKey{},
     .required = true,
     .help = "Name: at most 52 lower case letters, digits and dashes."},
    {.key = "seed",
     .values = WholeKey{.by_default = 1},
     .help = "Of shuffling, initial rows and initial tensors. The same seed, data and policy "
             "`sync` give the same model, bit for bit."},
    {.key = "partition_count",
     .values = WholeKey{.in = {.min = 1, .max = 65536}, .by_default = 256},
     .help = "Pieces in which parameters are placed, locked and saved; 1 to 65536. Fixed for the "
             "life of a job."},
    {.key = "recovery",
     .values = ChoiceKey{.among = kRecoveries, .by_default = "rollback"},
     .help = "What happens when a shard dies. `rollback`: everybody returns to the last "
             "checkpoint, and what was trained since is trained again. `partial` (not with "
             "`sync`, and not without `checkpoint.uri` and `checkpoint.every`): that shard alone "
             "returns to it, the others go on, and the updates of its partitions since then are "
             "lost: `capstan status` says how many at most. Where more than 100,000 tasks have "
             "been done since the last checkpoint, as checkpoints fail or are rare, that shard "
             "could not be told of all of them: until the next checkpoint succeeds, everybody "
             "returns to the last one, as with `rollback`, and `capstan status` warns of it. "
             "`replica`: the same as `rollback`, and only with `replicas: 1`, where it is needed "
             "only if a shard and the backup of one of its partitions are lost together.",
     .may_change = true},
    {.key = "replicas",
     .values = WholeKey{.in = {.max = 1}, .by_default = 0},
     .help = "Shards beside its owner that hold each partition: 0 or 1. With 1 every update is "
             "on two shards before a worker hears that it is done, and a shard that dies is "
             "replaced within moments by those that back its partitions up: nobody returns to a "
             "checkpoint, and nothing is lost. Where the zones of shards are known (`ps --zone`; "
             "on Kubernetes `ps.zoneLabel`), a partition is backed up in another zone than its "
             "owner's. It takes twice the memory for parameters, about twice the network between "
             "shards, and at least 2 shards. Fixed for the life of a job."},
    {.key = "rebalance",
     .values = ChoiceKey{.among = kRebalances, .by_default = "manual"},
     .help = "When partitions move between shards, while training goes on. `manual`: when shards "
             "join or leave, and when `capstan rebalance` asks for it. `auto`: also when the "
             "busiest shard has had more than 1.3 times the mean load for half a minute; then a "
             "few of its partitions at a time, and not again within two minutes.",
     .fields = "rebalance.automatic"},
    {.key = "rebalance_bytes_per_second",
     .values = BytesKey{.min = 1 << 16},
     .help = "What a shard may send for copies of partitions on their way; at least 64KiB. "
             "Empty: as fast as it can.",
     .fields = "rebalance.bytes_per_second"},
    {.key = "heartbeat",
     .values = SecondsKey{.in = {.min = 0.05, .max = 60}, .by_default = 1},
     .help = "How often shards and workers report to the chief; workers also whenever a lease "
             "ends, or schedules would follow the job's progress late.",
     .fields = "lease.heartbeat_seconds",
     .may_change = true},
    {.key = "worker_lease",
     .values = SecondsKey{.in = {.min = 0.2, .max = 3600}, .by_default = 10},
     .help = "A worker silent for so long is lost, and its work goes to others; at least 3 "
             "heartbeats.",
     .fields = "lease.worker_lease_seconds",
     .may_change = true},
    {.key = "shard_lease",
     .values = SecondsKey{.in = {.min = 1, .max = 3600}, .by_default = 10},
     .help = "With `replicas: 1`: a shard that has not heard from the chief for so long answers "
             "no pull, and its backups take over; at least 1s. The chief renews leases only "
             "while it can write its state, so training waits where the store is away for "
             "longer than this and ten seconds. A shard whose process ends is replaced at once, "
             "as soon as its port refuses connections; the lease matters where a machine or the "
             "network is lost.",
     .fields = "lease.shard_lease_seconds",
     .may_change = true},
    {.key = "data_stall",
     .values = SecondsKey{.in = {.min = 1, .max = 86400}, .by_default = 30},
     .help = "A worker that has been waiting for one read of a data file for so long is stuck: "
             "its work goes to others, and it gets new work when the read returns; at least 1s.",
     .fields = "lease.data_stall_seconds",
     .may_change = true},
};

}  // namespace

std::span<const DeclaredKey> DeclaredJobKeys() { return kJobKeys; }

}  // namespace capstan
