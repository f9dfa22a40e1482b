#include "tests/unit/data/any_bytes.h"

#include <memory>
#include <string>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

constexpr v1::DataFormat kFormats[] = {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV,
                                       v1::DATA_FORMAT_LIBSVM, v1::DATA_FORMAT_LIBFM,
                                       v1::DATA_FORMAT_IDX};

struct Content {
  Batch records;
  uint64_t bad_records = 0;
};

absl::StatusOr<Content> Read(const Source& source, const v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(const TaskRanges ranges, PlanTasks(source, data, {}));
  TaskReader reader({.data = data, .loss = v1::LOSS_SQUARED}, source);
  std::vector<Batch> batches;
  uint64_t bad_records = 0;
  for (const v1::Task& task : ranges.Tasks()) {
    CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedTask> loaded, reader.Read({.task = task}));
    bad_records += loaded->bad_records().count();
    for (uint64_t k = 0; k < loaded->batch_count(); ++k) {
      CAPSTAN_RETURN_IF_ERROR(loaded->ReadBatch(k, batches.emplace_back()));
    }
  }
  return Content{Join(batches), bad_records};
}

}  // namespace

void ReadAnyBytes(uint8_t choice, std::string_view bytes) {
  const std::unique_ptr<const Source> text = NewTextSource(bytes);
  const Source& source = *text;
  v1::DataSpec data;
  data.set_format(kFormats[choice % std::size(kFormats)]);
  data.add_train(data.format() == v1::DATA_FORMAT_IDX ? "images" : "file");
  data.set_header((choice & 0x80) != 0);
  data.set_max_bad_records(1 << 30);
  if (data.format() == v1::DATA_FORMAT_CSV || data.format() == v1::DATA_FORMAT_TSV) {
    data.add_numeric()->set_column(1);
    data.add_categorical()->set_column(2);
  }
  if (!DeriveDataSpec(source, data).ok()) return;
  data.set_task_bytes(uint64_t{1} << 40);
  data.set_task_records(uint64_t{1} << 40);
  const absl::StatusOr<Content> whole = Read(source, data);
  data.set_task_bytes(1 + choice % 61);
  data.set_task_records(1 + choice % 7);
  if (data.format() == v1::DATA_FORMAT_IDX)
    data.set_task_records(0);  // Its header may promise much.
  const absl::StatusOr<Content> parts = Read(source, data);
  CAPSTAN_CHECK(whole.ok() == parts.ok());
  if (!whole.ok()) return;
  CAPSTAN_CHECK(whole->records == parts->records);
  CAPSTAN_CHECK(whole->bad_records == parts->bad_records);
}

}  // namespace capstan
