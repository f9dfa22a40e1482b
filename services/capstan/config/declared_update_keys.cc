#include <cstdint>
#include <span>

#include "capstan/config/declared_keys.h"
#include "capstan/v1/job.pb.h"

namespace capstan {
namespace {

constexpr KeyChoice kSchedules[] = {
    {"constant", v1::SCHEDULE_KIND_UNSPECIFIED},
    {"step", v1::SCHEDULE_KIND_STEP},
    {"cosine", v1::SCHEDULE_KIND_COSINE},
    {"exponential", v1::SCHEDULE_KIND_EXPONENTIAL},
};

constexpr KeyChoice kPolicies[] = {
    {"async", v1::POLICY_KIND_ASYNC},
    {"ssp", v1::POLICY_KIND_SSP},
    {"sync", v1::POLICY_KIND_SYNC},
};

constexpr KeyChoice kStaleGradients[] = {
    {"apply", v1::STALE_GRADIENTS_UNSPECIFIED},
    {"scale", v1::STALE_GRADIENTS_SCALE},
    {"compensate", v1::STALE_GRADIENTS_COMPENSATE},
    {"drop", v1::STALE_GRADIENTS_DROP},
};

constexpr uint64_t kMostLanes = 4096;

constexpr DeclaredKey kOptimizerKeys[] = {
    {.key = "optimizer.<part>", .fields = "<part>_optimizer"},
    {.key = "optimizer.dense.groups[]", .fields = "dense_groups[], dense_groups[].optimizer"},
    {.key = "optimizer.dense.kind",
     .values = OptimizerKey{},
     .help = "`sgd`, `momentum`, `adagrad`, `adam`, `adamw`, `rmsprop` or `ftrl`."},
    {.key = "optimizer.sparse.kind",
     .values = OptimizerKey{},
     .help = "`sgd`, `momentum`, `adagrad`, `rowwise_adagrad` (which keeps one number of state a "
             "row), `adam`, `adamw`, `rmsprop` or `ftrl`."},
    {.key = "optimizer.<part>.learning_rate",
     .values = OptimizerKey{},
     .help = "The size of a step, which the schedule's factor is multiplied by."},
    {.key = "optimizer.<part>.momentum",
     .values = OptimizerKey{},
     .help = "momentum: the share of the last step that the next one keeps."},
    {.key = "optimizer.<part>.nesterov",
     .values = OptimizerKey{},
     .help = "momentum: Nesterov's form of it."},
    {.key = "optimizer.<part>.beta1",
     .values = OptimizerKey{},
     .help = "adam, adamw: decay of the mean of the gradients."},
    {.key = "optimizer.<part>.beta2",
     .values = OptimizerKey{},
     .help = "adam, adamw: decay of the mean of the squared gradients."},
    {.key = "optimizer.<part>.epsilon",
     .values = OptimizerKey{},
     .help = "adagrad, rowwise_adagrad, adam, adamw, rmsprop: is added to the divisor."},
    {.key = "optimizer.<part>.initial_accumulator",
     .values = OptimizerKey{},
     .help = "adagrad, rowwise_adagrad, ftrl: what the sum of squared gradients begins with."},
    {.key = "optimizer.<part>.decay",
     .values = OptimizerKey{},
     .help = "rmsprop: decay of the mean of the squared gradients."},
    {.key = "optimizer.<part>.l1",
     .values = OptimizerKey{},
     .help = "ftrl: strength of the L1 penalty."},
    {.key = "optimizer.<part>.l2",
     .values = OptimizerKey{},
     .help = "ftrl: strength of the L2 penalty."},
    {.key = "optimizer.<part>.weight_decay",
     .values = OptimizerKey{},
     .help = "adamw: decoupled; others: added to the gradient."},
    {.key = "optimizer.<part>.clip_value",
     .values = OptimizerKey{},
     .help = "Bound of each gradient's absolute value."},
    {.key = "optimizer.<part>.schedule.kind",
     .values = ChoiceKey{.among = kSchedules, .by_default = "constant"},
     .help = "Factor of the learning rate over the examples of the job: `constant`, `step`, "
             "`cosine` or `exponential`. Not with ftrl."},
    {.key = "optimizer.<part>.schedule.warmup_examples",
     .values = WholeKey{.by_default = 0},
     .help = "The factor first rises from 0 to 1."},
    {.key = "optimizer.<part>.schedule.decay_examples",
     .values = WholeKey{.in = {.min = 1}},
     .required = true,
     .help = "step, exponential: examples of one decay; cosine: until the floor."},
    {.key = "optimizer.<part>.schedule.decay_rate",
     .values = NumberKey{.in = {.max = 1, .open = true}},
     .required = true,
     .help = "step, exponential: factor of one decay."},
    {.key = "optimizer.<part>.schedule.floor",
     .values = NumberKey{.in = {.max = 1}, .by_default = 0},
     .help = "Smallest factor."},
    {.key = "optimizer.dense.groups",
     .values = ListKey{},
     .help = "Dense tensors with an optimizer of their own: a list of `{match: [\"*.bias\", "
             "\"*bn*\"], weight_decay: 0}`, each with the keys of `optimizer.dense` that differ. "
             "What a group does not say is as in `optimizer.dense`, and its `schedule`, if it "
             "has one, is taken whole; a group of another `kind` has that one's defaults. A "
             "tensor is of the first group that names it, and one that is not trained (a running "
             "mean) is of none.",
     .fields = "dense_groups"},
    {.key = "optimizer.dense.groups[].match",
     .values = TextsKey{},
     .required = true,
     .help = "Names of tensors, in which `*` stands for any text: of towers `<tower>/weights_0`, "
             "of `model.user` those of the program. A group without a tensor is refused, with "
             "the names that there are: before the job begins, or, of `model.user`, when its "
             "first worker declares them."},
};

constexpr DeclaredKey kUpdateKeys[] = {
    {.key = "update.<part>", .fields = "<part>_update"},
    {.key = "update.<part>.policy",
     .values = ChoiceKey{.among = kPolicies, .by_default = "async"},
     .help = "`async`: a gradient is applied when it arrives. `ssp`: also, but no worker runs "
             "further ahead than the bound. `sync`: in rounds.",
     .fields = "<part>_update.kind"},
    {.key = "update.<part>.aggregate",
     .values = WholeKey{.in = {.min = 1, .max = 4096}, .by_default = 1},
     .help = "async: so many gradients are gathered and applied once, as their mean."},
    {.key = "update.<part>.staleness",
     .values = WholeKey{.in = {.max = 1'000'000}},
     .required = true,
     .help = "ssp: a pull waits while its worker is more than so many steps ahead of the slowest."},
    {.key = "update.<part>.lanes",
     .values = WholeKey{.in = {.min = 1, .max = kMostLanes}},
     .default_words = "`capstan train`: the workers",
     .help = "sync: logical workers, each with a batch a round. The result depends on the lanes, "
             "never on who computes them. If both parts are `sync`, both have the same."},
    {.key = "update.<part>.backup_workers",
     .values = WholeKey{.in = {.max = kMostLanes - 1}, .by_default = 0},
     .help = "sync: a round closes without its so many slowest lanes, which offer their batch "
             "again."},
    {.key = "update.<part>.stale_gradients",
     .values = ChoiceKey{.among = kStaleGradients, .by_default = "apply"},
     .help = "async, ssp: `apply`; `scale` by 1 / max(1, staleness); `compensate` (g + lambda g² "
             "(w now - w pulled)); `drop`. Staleness counts updates since the pull: of a dense "
             "parameter those of its partition, of a row its own."},
    {.key = "update.<part>.lambda",
     .values = NumberKey{.in = {.max = 100}, .by_default = 0.04},
     .help = "compensate: the factor lambda of `stale_gradients`.",
     .fields = "<part>_update.compensate_lambda"},
    {.key = "update.<part>.drop_above",
     .values = WholeKey{},
     .required = true,
     .help = "drop: staleness above which a gradient (of a table: each row of it) is dropped, "
             "told and counted."},
};

}  // namespace

std::span<const DeclaredKey> DeclaredOptimizerKeys() { return kOptimizerKeys; }

std::span<const DeclaredKey> DeclaredUpdateKeys() { return kUpdateKeys; }

}  // namespace capstan
