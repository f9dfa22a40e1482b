#include <span>

#include "capstan/config/declared_keys.h"

namespace capstan {
namespace {

constexpr DeclaredKey kModelKeys[] = {
    {.key = "model.user",
     .help = "Instead of a preset: the name of your own program, whose workers compute "
             "([Python](python.md)). Its dense tensors are those that it declares; of the keys "
             "below it has `embedding_dim`, `loss`, `outputs`, `embedding_stddev` and "
             "`embedding_learning_rate_scale`. `train.compute_threads` stays 1, and "
             "`checkpoint.uri` is needed (`capstan train` sets one)."},
    {.key = "model.preset",
     .help = "`lr`, `fm`, `wide_deep`, `deepfm`, `dcn_v2`, `dlrm`, `mf`, `mlp`, `softmax` or "
             "`cnn`."},
    {.key = "model.embedding_dim", .help = "Floats of an embedding."},
    {.key = "model.hidden", .help = "Widths of the hidden layers."},
    {.key = "model.activation",
     .help = "Between hidden layers: `relu`, `tanh`, `sigmoid`, `gelu`, `silu`, `leaky_relu` or "
             "`elu`."},
    {.key = "model.dropout",
     .help = "While training, this share of the outputs of each hidden layer, at most .95, is 0, "
             "and the others are larger instead (1 / (1 - dropout)). Which ones is drawn by seed "
             "and batch, so a synchronous job has the same bits whoever works."},
    {.key = "model.batch_norm",
     .help = "Batch normalization of each hidden layer, between its weights and its activation. "
             "A step takes mean and variance of its own batch (with `train.step_threads` above "
             "1: of each thread's slice of it), so small batches are noisy and synchronous "
             "results depend on the lanes. Evaluations and scores take the running ones, which "
             "move a tenth of the way with each batch; an update that comes late moves them by "
             "as much less as it is late."},
    {.key = "model.cross_layers", .help = "dcn_v2: cross layers."},
    {.key = "model.loss",
     .help = "`logistic` (labels 0 and 1), `softmax` (labels 0 to outputs - 1) or `squared`. Of "
             "several labels each may have [its own](#data)."},
    {.key = "model.outputs", .help = "Classes of a softmax."},
    {.key = "model.embedding_stddev", .help = "Embeddings begin as N(0, stddev²)."},
    {.key = "model.embedding_learning_rate_scale",
     .help = "Learning rate of the embedding against that of the linear weight beside it."},
    {.key = "model.towers[].kind",
     .help = "Instead of a preset: `linear`, `fm`, `mlp`, `cross`, `dot`, `bias`, `conv`, or a "
             "tower that you have linked."},
    {.key = "model.towers[].name", .help = "Unique in the model; in front of its tensors' names."},
    {.key = "model.towers[].hidden", .help = "mlp, dot: widths of its layers; conv: channels."},
    {.key = "model.towers[].layers", .help = "cross: layers."},
    {.key = "model.towers[].activation",
     .help = "mlp, dot, conv (behind its channels): as `model.activation`, of this tower."},
    {.key = "model.towers[].dropout", .help = "mlp, dot, conv: as `model.dropout`, of this tower."},
    {.key = "model.towers[].batch_norm",
     .help = "mlp, dot, conv (behind its channels): as `model.batch_norm`, of this tower."},
};

constexpr DeclaredKey kTableKeys[] = {
    {.key = "table", .fields = "table_limits"},
    {.key = "tables", .fields = "table_settings"},
    {.key = "tables.<name>", .fields = "table_settings[], table_settings[].limits"},
    {.key = "table.admission_count", .help = "A row exists from the n-th time its key is pushed."},
    {.key = "table.expire_after_examples",
     .help = "A row untouched while the job trains on so many examples is evicted: it reads as "
             "missing from then on, and its memory is free at the latest an eighth of that time "
             "later."},
    {.key = "table.byte_budget",
     .help = "Of all rows on all shards together; above it rows are evicted."},
    {.key = "tables.<name>.dim",
     .help = "Of one table of `data.features`: the length of its embeddings. With a program that "
             "is a row; the towers' linear weights stand in front of it. Refused where no tower "
             "reads embeddings (`lr`)."},
    {.key = "tables.<name>.optimizer",
     .help = "Its own optimizer, with the keys of `optimizer.sparse`. What it does not say has "
             "the default of its `kind`, which is that of `optimizer.sparse` where it names none."},
    {.key = "tables.<name>.admission_count", .help = "As `table.admission_count`, of this table."},
    {.key = "tables.<name>.expire_after_examples",
     .help = "As `table.expire_after_examples`, of this table."},
    {.key = "tables.<name>.byte_budget", .help = "As `table.byte_budget`, of this table."},
};

}  // namespace

std::span<const DeclaredKey> DeclaredModelKeys() { return kModelKeys; }

std::span<const DeclaredKey> DeclaredTableKeys() { return kTableKeys; }

}  // namespace capstan
