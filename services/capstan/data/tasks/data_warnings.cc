#include "capstan/data/tasks/data_warnings.h"

#include <utility>

#include "capstan/base/status.h"
#include "capstan/data/tasks/label_order.h"
#include "capstan/data/tasks/one_label.h"
#include "capstan/data/tasks/quoted_cells.h"

namespace capstan {

absl::StatusOr<std::vector<DataWarning>> DataWarnings(const Source& source, const v1::JobSpec& job,
                                                      const TaskMix& mix) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<LabelOrder> orders,
                           SampleLabelOrders(source, ReaderOptionsOf(job), mix));
  CAPSTAN_ASSIGN_OR_RETURN(std::string one_label, OneLabelWarning(source, job.data(), orders, mix));
  CAPSTAN_ASSIGN_OR_RETURN(std::string quoted, QuotedCellsWarning(source, job.data()));
  return std::vector<DataWarning>{{"label order", LabelOrderWarning(job.data(), orders, mix)},
                                  {"labels", std::move(one_label)},
                                  {"quoted cells", std::move(quoted)}};
}

}  // namespace capstan
