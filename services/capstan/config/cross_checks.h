// Refuses settings of one section that contradict those of another.
#ifndef CAPSTAN_CONFIG_CROSS_CHECKS_H_
#define CAPSTAN_CONFIG_CROSS_CHECKS_H_

#include "capstan/config/findings.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

void CheckAcrossSections(const v1::JobSpec& spec, Findings& findings);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_CROSS_CHECKS_H_
