#include <cstdint>
#include <span>

#include "capstan/config/declared_keys.h"
#include "capstan/v1/job.pb.h"

namespace capstan {
namespace {

constexpr KeyChoice kPresets[] = {{"lr"},   {"fm"}, {"wide_deep"}, {"deepfm"},  {"dcn_v2"},
                                  {"dlrm"}, {"mf"}, {"mlp"},       {"softmax"}, {"cnn"}};

constexpr KeyChoice kLosses[] = {
    {"logistic", v1::LOSS_LOGISTIC},
    {"softmax", v1::LOSS_SOFTMAX},
    {"squared", v1::LOSS_SQUARED},
};

constexpr KeyChoice kActivations[] = {
    {"relu", v1::ACTIVATION_RELU},       {"tanh", v1::ACTIVATION_TANH},
    {"sigmoid", v1::ACTIVATION_SIGMOID}, {"gelu", v1::ACTIVATION_GELU},
    {"silu", v1::ACTIVATION_SILU},       {"leaky_relu", v1::ACTIVATION_LEAKY_RELU},
    {"elu", v1::ACTIVATION_ELU},
};

// What keys of the model and of its towers have in common.
constexpr WholeRange kDims{.min = 1, .max = 4096};
constexpr WholeRange kWidths{.min = 1, .max = 65536};
constexpr WholeRange kLayers{.min = 1, .max = 64};
constexpr NumberRange kDropouts{.max = 0.95};
constexpr WholeRange kAdmissionCounts{.min = 1, .max = 1'000'000};
constexpr uint64_t kLeastBudget = 1 << 20;

constexpr DeclaredKey kModelKeys[] = {
    {.key = "model.user",
     .values = TextKey{},
     .help = "Instead of a preset: the name of your own program, whose workers compute "
             "([Python](python.md)). Its dense tensors are those that it declares; of the keys "
             "below it has `embedding_dim`, `loss`, `outputs`, `embedding_stddev` and "
             "`embedding_learning_rate_scale`. `train.compute_threads` stays 1, and "
             "`checkpoint.uri` is needed (`capstan train` sets one)."},
    {.key = "model.preset",
     .values = ChoiceKey{.among = kPresets},
     .default_words = "required, or towers, or user",
     .help = "`lr`, `fm`, `wide_deep`, `deepfm`, `dcn_v2`, `dlrm`, `mf`, `mlp`, `softmax` or "
             "`cnn`."},
    {.key = "model.embedding_dim",
     .values = WholeKey{.in = kDims, .by_default = 16},
     .help = "Floats of an embedding."},
    {.key = "model.hidden",
     .values = WholesKey{.in = kWidths},
     .default_words = "of the preset",
     .help = "Widths of the hidden layers."},
    {.key = "model.activation",
     .values = ChoiceKey{.among = kActivations},
     .default_words = "relu",
     .help = "Between hidden layers: `relu`, `tanh`, `sigmoid`, `gelu`, `silu`, `leaky_relu` or "
             "`elu`."},
    {.key = "model.dropout",
     .values = NumberKey{.in = kDropouts, .by_default = 0},
     .help = "While training, this share of the outputs of each hidden layer, at most .95, is 0, "
             "and the others are larger instead (1 / (1 - dropout)). Which ones is drawn by seed "
             "and batch, so a synchronous job has the same bits whoever works."},
    {.key = "model.batch_norm",
     .values = FlagKey{},
     .help = "Batch normalization of each hidden layer, between its weights and its activation. "
             "A step takes mean and variance of its own batch (with `train.step_threads` above "
             "1: of each thread's slice of it), so small batches are noisy and synchronous "
             "results depend on the lanes. Evaluations and scores take the running ones, which "
             "move a tenth of the way with each batch; an update that comes late moves them by "
             "as much less as it is late."},
    {.key = "model.cross_layers",
     .values = WholeKey{.in = kLayers},
     .default_words = "3",
     .help = "dcn_v2: cross layers."},
    {.key = "model.loss",
     .values = ChoiceKey{.among = kLosses},
     .default_words = "of the preset",
     .help = "`logistic` (labels 0 and 1), `softmax` (labels 0 to outputs - 1) or `squared`. Of "
             "several labels each may have [its own](#data)."},
    {.key = "model.outputs",
     .values = WholeKey{.in = kWidths},
     .default_words = "1; softmax: the named classes",
     .help = "Classes of a softmax."},
    {.key = "model.embedding_stddev",
     .values = NumberKey{.in = {.max = 100, .open = true}, .by_default = 0.01},
     .help = "Embeddings begin as N(0, stddev²)."},
    {.key = "model.embedding_learning_rate_scale",
     .values = NumberKey{.in = {.max = 1000, .open = true}, .by_default = 1},
     .help = "Learning rate of the embedding against that of the linear weight beside it."},
    {.key = "model.towers[].kind",
     .values = TextKey{},
     .required = true,
     .help = "Instead of a preset: `linear`, `fm`, `mlp`, `cross`, `dot`, `bias`, `conv`, or a "
             "tower that you have linked."},
    {.key = "model.towers[].name",
     .values = TextKey{},
     .default_words = "the kind",
     .help = "Unique in the model; in front of its tensors' names."},
    {.key = "model.towers[].hidden",
     .values = WholesKey{.in = kWidths},
     .default_words = "of the kind",
     .help = "mlp, dot: widths of its layers; conv: channels."},
    {.key = "model.towers[].layers",
     .values = WholeKey{.in = kLayers},
     .default_words = "of the kind",
     .help = "cross: layers."},
    {.key = "model.towers[].activation",
     .values = ChoiceKey{.among = kActivations},
     .default_words = "`model.activation`",
     .help = "mlp, dot, conv (behind its channels): as `model.activation`, of this tower."},
    {.key = "model.towers[].dropout",
     .values = NumberKey{.in = kDropouts},
     .default_words = "`model.dropout`",
     .help = "mlp, dot, conv: as `model.dropout`, of this tower."},
    {.key = "model.towers[].batch_norm",
     .values = FlagKey{},
     .default_words = "`model.batch_norm`",
     .help = "mlp, dot, conv (behind its channels): as `model.batch_norm`, of this tower."},
};

constexpr DeclaredKey kTableKeys[] = {
    {.key = "table", .fields = "table_limits"},
    {.key = "tables", .fields = "table_settings"},
    {.key = "tables.<name>", .fields = "table_settings[], table_settings[].limits"},
    {.key = "table.admission_count",
     .values = WholeKey{.in = kAdmissionCounts, .by_default = 1},
     .help = "A row exists from the n-th time its key is pushed."},
    {.key = "table.expire_after_examples",
     .values = WholeKey{.in = {.min = 1}},
     .help = "A row untouched while the job trains on so many examples is evicted: it reads as "
             "missing from then on, and its memory is free at the latest an eighth of that time "
             "later."},
    {.key = "table.byte_budget",
     .values = BytesKey{.min = kLeastBudget},
     .help = "Of all rows on all shards together; above it rows are evicted."},
    {.key = "tables.<name>.dim",
     .values = WholeKey{.in = kDims},
     .default_words = "`model.embedding_dim`",
     .help = "Of one table of `data.features`: the length of its embeddings. With a program that "
             "is a row; the towers' linear weights stand in front of it. Refused where no tower "
             "reads embeddings (`lr`)."},
    {.key = "tables.<name>.optimizer",
     .default_words = "`optimizer.sparse`",
     .help = "Its own optimizer, with the keys of `optimizer.sparse`. What it does not say has "
             "the default of its `kind`, which is that of `optimizer.sparse` where it names none."},
    {.key = "tables.<name>.admission_count",
     .values = WholeKey{.in = kAdmissionCounts},
     .default_words = "`table.admission_count`",
     .help = "As `table.admission_count`, of this table."},
    {.key = "tables.<name>.expire_after_examples",
     .values = WholeKey{.in = {.min = 1}},
     .default_words = "`table.expire_after_examples`",
     .help = "As `table.expire_after_examples`, of this table."},
    {.key = "tables.<name>.byte_budget",
     .values = BytesKey{.min = kLeastBudget},
     .default_words = "`table.byte_budget`",
     .help = "As `table.byte_budget`, of this table."},
};

}  // namespace

std::span<const DeclaredKey> DeclaredModelKeys() { return kModelKeys; }

std::span<const DeclaredKey> DeclaredTableKeys() { return kTableKeys; }

}  // namespace capstan
