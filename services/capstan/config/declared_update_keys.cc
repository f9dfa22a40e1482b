#include <span>

#include "capstan/config/declared_keys.h"

namespace capstan {
namespace {

constexpr DeclaredKey kOptimizerKeys[] = {
    {.key = "optimizer.<part>", .fields = "<part>_optimizer"},
    {.key = "optimizer.dense.groups[]", .fields = "dense_groups[], dense_groups[].optimizer"},
    {.key = "optimizer.dense.kind",
     .help = "`sgd`, `momentum`, `adagrad`, `adam`, `adamw`, `rmsprop` or `ftrl`."},
    {.key = "optimizer.sparse.kind",
     .help = "`sgd`, `momentum`, `adagrad`, `rowwise_adagrad` (which keeps one number of state a "
             "row), `adam`, `adamw`, `rmsprop` or `ftrl`."},
    {.key = "optimizer.<part>.learning_rate",
     .help = "The size of a step, which the schedule's factor is multiplied by."},
    {.key = "optimizer.<part>.momentum",
     .help = "momentum: the share of the last step that the next one keeps."},
    {.key = "optimizer.<part>.nesterov", .help = "momentum: Nesterov's form of it."},
    {.key = "optimizer.<part>.beta1", .help = "adam, adamw: decay of the mean of the gradients."},
    {.key = "optimizer.<part>.beta2",
     .help = "adam, adamw: decay of the mean of the squared gradients."},
    {.key = "optimizer.<part>.epsilon",
     .help = "adagrad, rowwise_adagrad, adam, adamw, rmsprop: is added to the divisor."},
    {.key = "optimizer.<part>.initial_accumulator",
     .help = "adagrad, rowwise_adagrad, ftrl: what the sum of squared gradients begins with."},
    {.key = "optimizer.<part>.decay",
     .help = "rmsprop: decay of the mean of the squared gradients."},
    {.key = "optimizer.<part>.l1", .help = "ftrl: strength of the L1 penalty."},
    {.key = "optimizer.<part>.l2", .help = "ftrl: strength of the L2 penalty."},
    {.key = "optimizer.<part>.weight_decay",
     .help = "adamw: decoupled; others: added to the gradient."},
    {.key = "optimizer.<part>.clip_value", .help = "Bound of each gradient's absolute value."},
    {.key = "optimizer.<part>.schedule.kind",
     .help = "Factor of the learning rate over the examples of the job: `constant`, `step`, "
             "`cosine` or `exponential`. Not with ftrl."},
    {.key = "optimizer.<part>.schedule.warmup_examples",
     .help = "The factor first rises from 0 to 1."},
    {.key = "optimizer.<part>.schedule.decay_examples",
     .help = "step, exponential: examples of one decay; cosine: until the floor."},
    {.key = "optimizer.<part>.schedule.decay_rate",
     .help = "step, exponential: factor of one decay."},
    {.key = "optimizer.<part>.schedule.floor", .help = "Smallest factor."},
    {.key = "optimizer.dense.groups",
     .help = "Dense tensors with an optimizer of their own: a list of `{match: [\"*.bias\", "
             "\"*bn*\"], weight_decay: 0}`, each with the keys of `optimizer.dense` that differ. "
             "What a group does not say is as in `optimizer.dense`, and its `schedule`, if it "
             "has one, is taken whole; a group of another `kind` has that one's defaults. A "
             "tensor is of the first group that names it, and one that is not trained (a running "
             "mean) is of none.",
     .fields = "dense_groups"},
    {.key = "optimizer.dense.groups[].match",
     .help = "Names of tensors, in which `*` stands for any text: of towers `<tower>/weights_0`, "
             "of `model.user` those of the program. A group without a tensor is refused, with "
             "the names that there are: before the job begins, or, of `model.user`, when its "
             "first worker declares them."},
};

constexpr DeclaredKey kUpdateKeys[] = {
    {.key = "update.<part>", .fields = "<part>_update"},
    {.key = "update.<part>.policy",
     .help = "`async`: a gradient is applied when it arrives. `ssp`: also, but no worker runs "
             "further ahead than the bound. `sync`: in rounds.",
     .fields = "<part>_update.kind"},
    {.key = "update.<part>.aggregate",
     .help = "async: so many gradients are gathered and applied once, as their mean."},
    {.key = "update.<part>.staleness",
     .help = "ssp: a pull waits while its worker is more than so many steps ahead of the slowest."},
    {.key = "update.<part>.lanes",
     .help = "sync: logical workers, each with a batch a round. The result depends on the lanes, "
             "never on who computes them. If both parts are `sync`, both have the same."},
    {.key = "update.<part>.backup_workers",
     .help = "sync: a round closes without its so many slowest lanes, which offer their batch "
             "again."},
    {.key = "update.<part>.stale_gradients",
     .help = "async, ssp: `apply`; `scale` by 1 / max(1, staleness); `compensate` (g + lambda g² "
             "(w now - w pulled)); `drop`. Staleness counts updates since the pull: of a dense "
             "parameter those of its partition, of a row its own."},
    {.key = "update.<part>.lambda",
     .help = "compensate: the factor lambda of `stale_gradients`.",
     .fields = "<part>_update.compensate_lambda"},
    {.key = "update.<part>.drop_above",
     .help = "drop: staleness above which a gradient (of a table: each row of it) is dropped, "
             "told and counted."},
};

}  // namespace

std::span<const DeclaredKey> DeclaredOptimizerKeys() { return kOptimizerKeys; }

std::span<const DeclaredKey> DeclaredUpdateKeys() { return kUpdateKeys; }

}  // namespace capstan
