#include <span>

#include "capstan/config/declared_keys.h"
#include "capstan/v1/job.pb.h"

namespace capstan {
namespace {

constexpr KeyChoice kGradients[] = {{"mean", false}, {"sum", true}};
constexpr KeyChoice kDtypes[] = {{"float32", v1::DTYPE_FLOAT32}, {"bfloat16", v1::DTYPE_BFLOAT16}};

constexpr DeclaredKey kTrainKeys[] = {
    {.key = "train.batch_size",
     .values = WholeKey{.in = {.min = 1, .max = 1 << 20}, .by_default = 1024},
     .help = "Examples of a batch, of one worker's compute thread or one lane."},
    {.key = "train.epochs",
     .values = WholeKey{.in = {.min = 1, .max = 1'000'000}, .by_default = 1},
     .help = "Passes over the data. A job that is started again with more of them goes on from "
             "where it is, also when it had ended."},
    {.key = "train.gradient",
     .values = ChoiceKey{.among = kGradients, .by_default = "mean"},
     .help = "Of the batch's loss: `mean` or `sum`.",
     .fields = "train.sum_loss"},
    {.key = "train.clip_norm",
     .values = NumberKey{.in = {.open = true}},
     .help = "Bound of the norm of a worker's whole gradient."},
    {.key = "train.compute_threads",
     .values = WholeKey{.in = {.min = 1, .max = 256}, .by_default = 1},
     .help = "Batches that a worker computes at once, each on parameters of its own: more of "
             "them make gradients staler.",
     .may_change = true},
    {.key = "train.step_threads",
     .values = WholeKey{.in = {.min = 1, .max = 64}, .by_default = 1},
     .help = "Threads that share the examples of one batch: nothing gets staler."},
    {.key = "train.evaluate_every_examples",
     .values = WholeKey{.in = {.min = 1}},
     .default_words = "each epoch",
     .help = "Examples trained between two evaluations.",
     .may_change = true},
    {.key = "train.early_stop.metric",
     .values = TextKey{},
     .help = "Stop when it no longer improves: one that is measured with the loss: `auc`, "
             "`group_auc` (with `data.schema.group`), `logloss`, `accuracy` (logistic), "
             "`logloss`, `accuracy` (softmax), `rmse`, `mae` (squared); of a further set of "
             "`data.eval`: `recent/auc`, of a further label: `buy/auc`. The result is then the "
             "model with the best value: training stands still for each evaluation, and a model "
             "that improves is saved as it was evaluated before training goes on; where that "
             "fails for ten minutes, training goes on without it, with a warning. More epochs of "
             "a job that has ended go on from its result, not from what was trained after it.",
     .may_change = true},
    {.key = "train.early_stop.patience",
     .values = WholeKey{.in = {.min = 1, .max = 10000}, .by_default = 3},
     .help = "Evaluations without improvement. One that lacks the metric, as no held-out record "
             "has its label or all have the same one, counts for nothing, with a warning.",
     .may_change = true},
    {.key = "train.max_steps",
     .values = WholeKey{.in = {.min = 1}},
     .help = "Stop after so many global steps: with `sync` after exactly so many rounds; "
             "otherwise once shards have applied so many batches, as they tell with every "
             "`heartbeat`, and what is under way by then is applied as well. A batch whose "
             "gradient is not finite is not applied, and does not count then.",
     .may_change = true},
    {.key = "train.wire_dtype",
     .values = ChoiceKey{.among = kDtypes, .by_default = "float32"},
     .help = "How values travel: `float32` or `bfloat16`."},
    {.key = "train.prefetch_batches",
     .values = WholeKey{.in = {.min = 1, .max = 64}, .by_default = 2},
     .help = "Batches that each thread has ready ahead of time, beside the one that it, or each of "
             "its lanes, works on next, as long as those of a whole worker are less than 64 MiB; "
             "in jobs without lanes as many again are cut, with the same bound.",
     .may_change = true},
    {.key = "train.push_window",
     .values = WholeKey{.in = {.min = 1, .max = 64}, .by_default = 1},
     .help = "Steps of a compute thread whose pushes may be unacknowledged when it pulls for the "
             "next. One worker alone then trains on parameters at most so many updates old; more "
             "hides a slow network.",
     .may_change = true},
    {.key = "train.step_timeout",
     .values = SecondsKey{.by_default = 900},
     .help = "With `model.user`: a step of the program that takes longer "
             "[hangs](python.md#when-the-program-fails), and its worker ends. 0s: it may take "
             "any time.",
     .fields = "train.step_timeout_seconds",
     .may_change = true},
};

constexpr DeclaredKey kCheckpointKeys[] = {
    {.key = "checkpoint.uri",
     .values = TextKey{},
     .help = "Where the job is kept, in `<uri>/<job>`: its checkpoints, the chief's state, the "
             "finished model and the learning curve, as `curve.csv` (a cell is empty where there "
             "is nothing to tell: `train_loss` before this chief has a loss) and for "
             "`tensorboard --logdir <uri>`. A folder, `file:///folder` or `s3://bucket/prefix` "
             "([S3](s3.md)). Starting a job again that is kept there goes on with it; another "
             "configuration is refused. `capstan train` keeps a job that has none in "
             "`capstan-runs/jobs`, below the folder it is started in, or in `<run folder>/model` "
             "with `--run-dir`."},
    {.key = "checkpoint.every",
     .values = SecondsKey{.by_default = 300},
     .help = "Time between checkpoints, where there is a `checkpoint.uri`. `0s`: none but what "
             "is asked for and the finished model; a lost shard then sends the job back to its "
             "beginning.",
     .fields = "checkpoint.every_seconds",
     .may_change = true},
    {.key = "checkpoint.keep",
     .values = WholeKey{.in = {.min = 1, .max = 1000}, .by_default = 3},
     .help = "Newest checkpoints kept. The best of those that were evaluated just as they are is "
             "kept besides, and what deltas build on.",
     .may_change = true},
    {.key = "checkpoint.max_deltas",
     .values = WholeKey{.in = {.max = 100}, .by_default = 0},
     .help = "Checkpoints between two full ones that hold only what has changed. 0: every one is "
             "full.",
     .may_change = true},
};

}  // namespace

std::span<const DeclaredKey> DeclaredTrainKeys() { return kTrainKeys; }

std::span<const DeclaredKey> DeclaredCheckpointKeys() { return kCheckpointKeys; }

}  // namespace capstan
