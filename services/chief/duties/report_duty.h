// Takes in what workers report of their leases. It counts the progress. Work that a worker cannot
// do is given to others, or fails the job, but never on the report of one worker while there is
// another one to ask.
#ifndef CAPSTAN_CHIEF_DUTIES_REPORT_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_REPORT_DUTY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"
#include "chief/work/accusations.h"
#include "chief/work/work_report.h"

namespace capstan::chief {

class ReportDuty : public Duty {
 public:
  using Duty::Duty;

  // Takes in one report. Ignores reports of another timeline, or of a lease that the worker does
  // not hold; but adopts a lease that an earlier chief has granted.
  void Take(const Worker& worker, const v1::LeaseReport& told);

  // How many leases failed or were given back.
  uint64_t retries() const { return retries_; }

 private:
  std::optional<v1::LeaseReport> Doubted(const Worker& worker, const v1::LeaseReport& said);
  bool Accuse(const Worker& worker, const WorkName& work);
  void OnFailure(const Worker& worker, const ReportResult& result, const v1::LeaseReport& said);
  bool Adopts(const std::vector<TrainerId>& trainers, const v1::LeaseReport& report) const;
  void CheckBadRecords();
  void GiveUpEvaluation(const std::string& why);

  uint64_t retries_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_REPORT_DUTY_H_
