#include <cstdint>
#include <span>

#include "capstan/config/declared_keys.h"
#include "capstan/v1/job.pb.h"

namespace capstan {
namespace {

constexpr KeyChoice kFormats[] = {
    {"csv", v1::DATA_FORMAT_CSV},       {"tsv", v1::DATA_FORMAT_TSV},
    {"libsvm", v1::DATA_FORMAT_LIBSVM}, {"libfm", v1::DATA_FORMAT_LIBFM},
    {"idx", v1::DATA_FORMAT_IDX},       {"synthetic", v1::DATA_FORMAT_SYNTHETIC},
    {"tar", v1::DATA_FORMAT_TAR},       {"tfrecord", v1::DATA_FORMAT_TFRECORD},
    {"folder", v1::DATA_FORMAT_FOLDER}, {"parquet", v1::DATA_FORMAT_PARQUET},
};

// The losses that one of several labels may have; softmax is only for a single label.
constexpr KeyChoice kLabelLosses[] = {{"logistic", v1::LOSS_LOGISTIC},
                                      {"squared", v1::LOSS_SQUARED}};
constexpr KeyChoice kLabelTransforms[] = {{"none", false}, {"standard", true}};
constexpr KeyChoice kTransforms[] = {{"none", v1::NUMERIC_TRANSFORM_UNSPECIFIED},
                                     {"log", v1::NUMERIC_TRANSFORM_LOG},
                                     {"bucket", v1::NUMERIC_TRANSFORM_BUCKET},
                                     {"standard", v1::NUMERIC_TRANSFORM_STANDARD}};
constexpr KeyChoice kKeyKinds[] = {
    {"hash", v1::KEY_KIND_HASH}, {"id", v1::KEY_KIND_ID}, {"vocabulary", v1::KEY_KIND_VOCABULARY}};
constexpr KeyChoice kPoolings[] = {
    {"sum", v1::POOLING_SUM}, {"mean", v1::POOLING_MEAN}, {"none", v1::POOLING_NONE}};
constexpr KeyChoice kCandidateShares[] = {{"weights", v1::CANDIDATE_SHARE_WEIGHTS},
                                          {"log_uniform", v1::CANDIDATE_SHARE_LOG_UNIFORM}};

constexpr NumberRange kAnyNumber{.min = -NumberRange::kNoEnd};
constexpr WholeRange kSides{.min = 1, .max = 4096};  // Sides of the images that a model reads.
constexpr uint64_t kMostPieces = 256;  // Limited, as a lease names all pieces of its task.
// Limited, as a batch pulls the rows of all its negatives.
constexpr uint64_t kMostNegatives = 1'000'000;

constexpr DeclaredKey kDataKeys[] = {
    {.key = "data.schema.labels", .fields = "data.labels"},
    {.key = "data.schema.labels.<name>", .fields = "data.labels[]"},
    {.key = "data.features.<name>", .fields = "data.features[]"},
    {.key = "data.format",
     .values = ChoiceKey{.among = kFormats},
     .required = true,
     .help = "`csv`, `tsv`, `libsvm`, `libfm`, `idx` (images), `synthetic` (the built-in click "
             "log), `parquet`, or images as they are stored: `tar` (as webdataset has it), "
             "`tfrecord` or `folder`; see [Images](#images). Files that end in .gz or .zst are "
             "decompressed."},
    {.key = "data.train",
     .values = TextsKey{},
     .required = true,
     .help = "Files or globs: one, or a list; folders with `folder`; also `s3://bucket/name` and "
             "globs in it ([S3](s3.md)). Not with `synthetic`."},
    {.key = "data.eval",
     .values = TextsKey{.or_map = true},
     .help = "Files on which the model is evaluated. A job may get other ones while it exists; "
             "metrics of different records do not compare, so the best model and early stopping "
             "then begin anew with the first evaluation of the new ones.",
     .fields = "data.eval, data.eval_sets, data.eval_sets[].name, data.eval_sets[].files",
     .may_change = true},
    {.key = "data.eval.<name>",
     .values = TextsKey{},
     .help = "In place of these files: several sets of them by name, such as `{all: test.csv, "
             "recent: [day-6.csv, day-7.csv]}`, 32 at most. Each is measured apart in every "
             "evaluation. The first one is the job's own: its metrics have their plain names, "
             "`auc`, and early stopping goes by them unless it names others. Those of the "
             "further sets are called `recent/auc`; they stand in `capstan status`, in "
             "`capstan_eval_metric`, and in lines of their own in `curve.csv`, whose column "
             "`eval_set` is the set's name (of [several labels](#data) also theirs: `buy`, "
             "`recent/buy`).",
     .may_change = true},
    {.key = "data.header",
     .values = FlagKey{},
     .help = "csv, tsv: the first line of each file is names."},
    {.key = "data.schema.label",
     .values = ListKey{},
     .default_words = "0",
     .help = "csv, tsv, parquet: column of the label; columns are counted from 0, or named: csv "
             "and tsv with `data.header: true`.",
     .fields = "data.label_column, data.label_name"},
    {.key = "data.schema.labels.<name>.column",
     .values = ListKey{},
     .required = true,
     .help = "csv, tsv, parquet, loss `logistic` or `squared`: in place of `label`, several of "
             "them by name, such as `{click: {column: clicked}, buy: {column: bought, weight: "
             "0.2}}`, 2 to 32. The model has an output for each; the loss of an example is the "
             "sum of the labels' losses, and a record that lacks one of them is a bad record, "
             "unless it may (`optional`). `positive` and `label_threshold` go for all of them "
             "that are `logistic`. Each is measured apart: the metrics of the first label have "
             "their plain names, `auc`, those of the others are called `buy/auc`, of a further "
             "set `recent/buy/auc`; `loss` is that of the examples. `capstan predict` writes a "
             "column a label. The towers `fm`, `deepfm`'s and `mf`'s among them, have one output "
             "and are refused.",
     .fields = "data.labels[].column, data.labels[].column_name"},
    {.key = "data.schema.labels.<name>.weight",
     .values = NumberKey{.in = {.open = true}, .by_default = 1},
     .help = "By what the label's loss is multiplied in the loss of an example, above 0."},
    {.key = "data.schema.labels.<name>.optional",
     .values = FlagKey{},
     .help = "A record may lack this label: its cell is empty; in Parquet also null or NaN. The "
             "record is trained and measured on the labels that it has; its loss is the sum of "
             "theirs. A record without any of its labels is a bad record.",
     .fields = "data.labels[].may_be_missing"},
    {.key = "data.schema.labels.<name>.loss",
     .values = ChoiceKey{.among = kLabelLosses},
     .default_words = "of `model.loss`",
     .help = "The label's own: `logistic` (0 and 1) or `squared`, such as `{bought: {column: "
             "bought}, amount: {column: price, loss: squared, weight: 0.1}}`. The cell of a "
             "squared label is a number, taken as it is: `positive` and `label_threshold` leave "
             "it alone. Each label has the metrics of its loss (`amount/rmse`, `amount/mae`), "
             "and `capstan predict` and `capstan serve` give a probability of the one and a "
             "number of the other. A squared loss grows with the unit of its label: `weight` "
             "brings the two to one scale. All shards and workers, and the chief, must be of a "
             "release that knows this key before a job has it: an earlier worker would train the "
             "label with the model's loss."},
    {.key = "data.schema.positive",
     .values = TextsKey{},
     .help = "csv, tsv, parquet, loss `logistic`: labels that are texts, one or a list; a record "
             "with one of them is 1, any other is 0. Where none of some 10,000 records from all "
             "over the data has one (of several labels: of each that is `logistic`), `config "
             "check` and the status warn, and name the label and the texts that occur.",
     .fields = "data.positive_labels"},
    {.key = "data.schema.classes",
     .values = TextsKey{},
     .help = "csv, tsv, parquet: the names of the classes where labels are texts; the label is "
             "the place in this list, from 0. A softmax has as many outputs, and `model.outputs` "
             "need not say it.",
     .fields = "data.label_classes"},
    {.key = "data.schema.weight",
     .values = ListKey{},
     .help = "csv, tsv, parquet: column of the example's weight, a number from 0 on, by which "
             "its loss is multiplied; the metrics of held-out records count it likewise. With "
             "`train.gradient: mean` the sum of a batch is divided by the number of its "
             "examples, not by that of their weights. A record without a weight is a bad record, "
             "but for `capstan predict`, which looks at no weight; the column has to be there in "
             "a csv or tsv all the same, as every other but the label's.",
     .fields = "data.weight, data.weight.column, data.weight.name"},
    {.key = "data.schema.group",
     .values = ListKey{},
     .help = "csv, tsv, parquet, loss `logistic` (of several labels, of one of them): column "
             "that says to whose group a record belongs, such as the user; it may be used as a "
             "feature, too. Evaluations then also tell `group_auc`: the AUC among the records of "
             "one group, as the mean over the groups that have both labels, each weighted by its "
             "records, and with `data.schema.weight` by the sum of their weights, by which the "
             "pairs within a group count, too. Records whose cell is empty (in Parquet also "
             "null) belong to nobody's group and are left out. It is exact as long as the "
             "held-out records are about a million at most; of more it is that of a sample of "
             "whole groups, and `group_share` says which share of them.",
     .fields = "data.group, data.group.column, data.group.name",
     .may_change = true},
    {.key = "data.schema.numeric",
     .values = ListKey{},
     .help = "csv, tsv, parquet: columns that are numbers, such as `\"1-13\"`, `[1, 2]`, `[age, "
             "hours]`, or maps with the keys below: one, or a list.",
     .fields = "data.numeric"},
    {.key = "data.schema.numeric[].columns",
     .values = ListKey{},
     .required = true,
     .help = "Columns that this map is about.",
     .fields = "data.numeric[].column, data.numeric[].name"},
    {.key = "data.schema.numeric[].transform",
     .values = ChoiceKey{.among = kTransforms, .by_default = "none"},
     .help = "`none`; `log`: sign(x) log(1 + abs(x)); `bucket`: becomes a categorical value, the "
             "index of its bucket; `standard`: (x - mean) / deviation."},
    {.key = "data.schema.numeric[].boundaries",
     .values = NumbersKey{},
     .help = "`bucket` needs them: ascending numbers."},
    {.key = "data.schema.numeric[].missing",
     .values = NumberKey{.in = kAnyNumber, .by_default = 0},
     .help = "Value of an empty cell. With `bucket` an empty cell is a bucket of its own; with "
             "`standard` this is counted in deviations from the mean."},
    {.key = "data.schema.numeric[].mean",
     .values = NumberKey{.in = kAnyNumber},
     .default_words = "measured",
     .help = "`standard`: of each of these columns."},
    {.key = "data.schema.numeric[].deviation",
     .values = NumberKey{.in = {.open = true}},
     .default_words = "measured",
     .help = "`standard`: given together with `mean`."},
    {.key = "data.schema.numeric[].file",
     .values = TextKey{},
     .help = "`standard`: in place of `mean` and `deviation`, a local file or "
             "`s3://bucket/name`, also .gz and .zst, that says both of each of these columns, as "
             "a job before may have measured them: a line a column, `price<tab>12.5<tab>3.1`, "
             "the column called as here, by its name or its number. It may have lines of other "
             "columns; a deviation is above 0. Its text is the job's for good: a chief that is "
             "started again and finds another one refuses it. Workers, `capstan predict` and "
             "exported models have the numbers from the job, and need no file."},
    {.key = "data.schema.categorical",
     .values = ListKey{},
     .help = "csv, tsv, parquet: columns whose text is hashed, with the column, into a key.",
     .fields = "data.categorical, data.categorical[].column, data.categorical[].name"},
    {.key = "data.features.<name>.column",
     .values = ListKey{},
     .required = true,
     .help = "csv, tsv, parquet: instead of `data.schema.categorical`, keys that mean one thing, "
             "under a name of your own: [for presets and towers](#features), and [for a "
             "program](python.md#features-with-tables-of-their-own). The column they are made "
             "of, which several features may share.",
     .fields = "data.features[].column, data.features[].column_name"},
    {.key = "data.features.<name>.kind",
     .values = ChoiceKey{.among = kKeyKinds, .by_default = "hash"},
     .help = "`hash`: the key is the hash of the text. `id`: the cell is a whole number from 0, "
             "and that is the key; an empty one is an empty bag. `vocabulary`: the key is the "
             "place of the text in a file. With `hash` and `vocabulary` an empty cell is a text "
             "of its own, but with `many`, where it is an empty bag."},
    {.key = "data.features.<name>.file",
     .values = TextKey{},
     .required = true,
     .help = "`kind: vocabulary`: a local file or `s3://bucket/name`, also .gz and .zst, a text "
             "a line, that of the first one having the key 0. At most 1,000,000 texts of at most "
             "1,000 bytes, 128 MiB in all; no two are equal and none is empty, spaces count, and "
             "lines end with LF alone. Its text is the job's for good: a worker that finds "
             "another one refuses it with both checksums, and so does a chief that is started "
             "again. `capstan checkpoint export` copies it beside the model.",
     .fields = "data.features[].vocabulary.file"},
    {.key = "data.features.<name>.unknown",
     .values = WholeKey{.in = {.max = 1'000'000}, .by_default = 1},
     .help = "`kind: vocabulary`: so many keys, behind those of the file, are shared by all "
             "texts that it lacks, by their hash; at most 1,000,000. With 0 a record with such a "
             "text, an empty one included, is a bad record.",
     .fields = "data.features[].vocabulary.unknown"},
    {.key = "data.features.<name>.table",
     .values = TextKey{},
     .default_words = "the feature's name",
     .help = "The table that has its rows; features may share one. A job has at most 1,000."},
    {.key = "data.features.<name>.buckets",
     .values = WholeKey{.in = {.min = 1}},
     .help = "Keys are taken modulo this, so a table has at most so many rows. Not with `kind: "
             "vocabulary`."},
    {.key = "data.features.<name>.many",
     .values = FlagKey{},
     .help = "A cell holds any number of values."},
    {.key = "data.features.<name>.separator",
     .values = TextKey{.by_default = "|"},
     .default_words = "`|`",
     .help = "With `many`: the character between two values of a text. A list of a Parquet file "
             "has its values by itself; nulls among them are left out."},
    {.key = "data.features.<name>.most",
     .values = WholeKey{.in = {.min = 1, .max = 1'000'000}, .by_default = 1000},
     .help = "With `many`: so many values of a cell count, the first ones."},
    {.key = "data.features.<name>.pooling",
     .values = ChoiceKey{.among = kPoolings, .by_default = "sum"},
     .help = "With `many`: `sum`, `mean`, or `none`: a sequence, which only a program of "
             "`model.user` takes."},
    {.key = "data.features.<name>.weights",
     .values = ListKey{},
     .help = "With `many`: the column that has a weight for each value, in the same order: a "
             "text with the same separator, or a list of numbers of a Parquet file. The row of a "
             "value counts so much in a `sum`; a `mean` is divided by the sum of the weights, is "
             "zeros where that is 0, and has no weights below 0; with `pooling: none` the "
             "program is given them. Of more values than `most` the weights go with the values. "
             "A record with more weights than values, or fewer, or with one that is no number, "
             "is a bad record. Several features may share the column, which nothing else uses.",
     .fields = "data.features[].weights, data.features[].weights.column, "
               "data.features[].weights.name"},
    {.key = "data.negatives.feature",
     .values = TextKey{},
     .required = true,
     .help = "With `data.features` and `model.user`: while training, each batch has keys beside "
             "those of its records, drawn from a file of candidates, which are what might have "
             "been chosen instead ([Python](python.md#a-softmax-over-many-items)). The feature "
             "whose candidates they are: its `kind` and `buckets` say which keys their ids have, "
             "and its table has their rows."},
    {.key = "data.negatives.file",
     .values = TextKey{},
     .required = true,
     .help = "The candidates: a local file or `s3://bucket/name`, also .gz and .zst, an id a "
             "line, or an id and its weight behind a tab or a comma; at most 10 million, each of "
             "which takes 20 bytes of a worker. Its text is the job's for good: a worker that "
             "finds another one refuses it, and so does a chief that is started again."},
    {.key = "data.negatives.per_batch",
     .values = WholeKey{.in = {.min = 1, .max = kMostNegatives}},
     .required = true,
     .help = "So many are drawn for each batch, with replacement, 1 to 1,000,000: by (`seed`, "
             "epoch, task, place of the batch in it), so that it does not matter who trains it."},
    {.key = "data.negatives.from",
     .values = ChoiceKey{.among = kCandidateShares, .by_default = "weights"},
     .help = "By what a candidate is drawn. `weights`: those of the file; where it has none, all "
             "are drawn equally often. `log_uniform`: the line r of the file, from 1, as often "
             "as log((r + 1) / r) says, as suits ids that are sorted by how often they occur, "
             "the most frequent one first.",
     .fields = "data.negatives.share"},
    {.key = "data.negatives.distortion",
     .values = NumberKey{.in = {.min = 0, .max = 1}, .by_default = 1},
     .help = "Each of these shares is raised to this power, 0 to 1; word2vec has 0.75, and with "
             "0 all are drawn equally often."},
    {.key = "data.fields",
     .values = WholeKey{.in = {.max = 100000}},
     .default_words = "varies",
     .help = "libsvm, libfm: keys that every record has. Some models need it."},
    {.key = "data.image_shape",
     .values = WholesKey{.in = kSides},
     .default_words = "from the file",
     .help = "idx: `[height, width]`."},
    {.key = "data.image.height",
     .values = WholeKey{.in = kSides},
     .required = true,
     .help = "tar, tfrecord, folder: to which height images are brought, 1 to 4096."},
    {.key = "data.image.width",
     .values = WholeKey{.in = kSides},
     .required = true,
     .help = "To which width images are brought, 1 to 4096."},
    {.key = "data.image.channels",
     .values = WholeKey{.in = {.min = 1, .max = 3}, .by_default = 3},
     .help = "3: red, green, blue; 1: grey."},
    {.key = "data.image.random_crop",
     .values = FlagKey{},
     .help = "While training a piece of 8 to 100 % of the image, anywhere in it, with sides of "
             "3/4 to 4/3 of the ratio of `width` to `height`, is scaled. Otherwise, and in an "
             "evaluation: the largest piece of that ratio, at the centre."},
    {.key = "data.image.random_flip",
     .values = FlagKey{},
     .help = "While training every second image is mirrored, left to right."},
    {.key = "data.image.member",
     .values = TextKey{},
     .default_words = "jpg, jpeg, png; image/encoded",
     .help = "tar: the end of the name of the member that is the image; tfrecord: the feature "
             "that is.",
     .fields = "data.image.image_member"},
    {.key = "data.image.label",
     .values = TextKey{},
     .default_words = "cls; image/class/label",
     .help = "tar: the end of the name of the member that is the label, as text; tfrecord: the "
             "feature that is: a whole number, or a text.",
     .fields = "data.image.label_member"},
    {.key = "data.numeric_scale",
     .values = NumberKey{.in = {.open = true}},
     .default_words = "1; images: 1/255",
     .help = "The dense input is multiplied by this."},
    {.key = "data.label_threshold",
     .values = NumberKey{.in = kAnyNumber},
     .help = "Labels above it become 1, others 0 (a9a and Frappe, with -1 and 1: `0`); of "
             "several labels those of the loss `logistic`. Absent: labels as they are."},
    {.key = "data.label_transform",
     .values = ChoiceKey{.among = kLabelTransforms, .by_default = "none"},
     .help = "csv, tsv, parquet, libsvm, libfm, loss `squared`: with `standard` the loss is "
             "computed on (label - mean) / deviation. RMSE, MAE, `capstan evaluate` and `capstan "
             "predict` are in the label's own unit; the training loss is not.",
     .fields = "data.standardize_label"},
    {.key = "data.label_mean",
     .values = NumberKey{.in = kAnyNumber},
     .default_words = "measured",
     .help = "`standard`: of the label."},
    {.key = "data.label_deviation",
     .values = NumberKey{.in = {.open = true}},
     .default_words = "measured",
     .help = "`standard`: given together with `label_mean`."},
    {.key = "data.max_bad_records",
     .values = WholeKey{.by_default = 0},
     .help = "So many records of the training data that cannot be understood are skipped and "
             "counted; one more fails the job. Each record counts once in the job, when its task "
             "is done: epochs that read it again, and workers that redo a task, do not count it "
             "again. A task that alone has more is given up at once; of the evaluation data each "
             "task may have so many. A file of which none of the first records can be understood "
             "is refused whatever the number.",
     .may_change = true},
    {.key = "data.task_bytes",
     .values = BytesKey{.min = 1024},
     .default_words = "chosen",
     .help = "Bytes of a task of a plain file; at least 1KiB."},
    {.key = "data.task_records",
     .values = WholeKey{.in = {.min = 1}},
     .default_words = "chosen",
     .help = "Records of a task of a compressed, Parquet or synthetic file."},
    {.key = "data.shuffle",
     .values = FlagKey{.by_default = true},
     .help = "In every epoch each task is made anew of pieces from all over the data, and its "
             "records are shuffled. `false`: tasks are ranges of the files, in their order."},
    {.key = "data.pieces",
     .values = WholeKey{.in = {.min = 1, .max = kMostPieces}, .by_default = 16},
     .help = "So many pieces make a task, 1 to 256, each from another part of the data, so that "
             "also files sorted by their label are mixed; files smaller than a piece are one "
             "each. 1: a task is one range of a file. A compressed or idx file is read from its "
             "front the first time, and a Parquet file is not read piece by piece either: where "
             "mixing it would have it read more than 16 times an epoch (it makes more than 16 "
             "tasks, and is larger than one task), its tasks stay ranges. `capstan config check` "
             "and the status warn where the data lie in the order of their labels."},
    {.key = "data.synthetic.train_rows",
     .values = WholeKey{.in = {.min = 1, .max = uint64_t{1} << 39}, .by_default = 1'000'000},
     .help = "Rows of the built-in click log."},
    {.key = "data.synthetic.eval_rows",
     .values = WholeKey{.in = {.max = uint64_t{1} << 39}, .by_default = 100'000},
     .help = "Rows of its evaluation split."},
    {.key = "data.synthetic.seed",
     .values = WholeKey{.by_default = 0},
     .help = "Another seed is another log."},
    {.key = "data.synthetic.vocabulary",
     .values = WholesKey{.in = {.min = 1, .max = 100'000'000}},
     .default_words = "39 columns",
     .help = "Values that each column has."},
};

}  // namespace

std::span<const DeclaredKey> DeclaredDataKeys() { return kDataKeys; }

}  // namespace capstan
