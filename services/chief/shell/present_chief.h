// Finds out whether the chief that the stored state names is still at work on the job.
#ifndef CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_
#define CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_

#include <string>

#include "capstan/security/tls.h"
#include "capstan/v1/chief_state.pb.h"
#include "chief/shell/job_store.h"

namespace capstan::chief {

// Calls the address in `state`. Returns true if the chief of this job and term answers. Returns
// false if nobody listens there (known at once), nobody answers within two seconds, another process
// answers, or the address is `own_address`, where no other process can be. A chief on the loopback
// address of another machine cannot be reached: it counts as present if the stored state changes
// within three seconds, as it does under a chief that trains. `tls` is the identity of this
// process; null: plaintext.
bool ChiefIsStillThere(JobStore& store, const v1::ChiefState& state, const std::string& own_address,
                       const Tls* tls);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_
