// Tells whether the chief that has the job by the stored state is still at work on it.
#ifndef CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_
#define CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_

#include <string>

#include "capstan/security/tls.h"
#include "capstan/v1/chief_state.pb.h"
#include "chief/shell/job_store.h"

namespace capstan::chief {

// Asks at the address that `state` names. Returns true if the chief of this job and term answers.
// Returns false if nobody listens there (found out at once), nobody answers within two seconds,
// another process answers, or the address is `own_address`, where no other process can be. A chief
// on the loopback address of another machine cannot be asked: it counts as there if the stored
// state changes within three seconds, as it does under a chief that trains. `tls` is the identity
// of this process; null: plaintext.
bool ChiefIsStillThere(JobStore& store, const v1::ChiefState& state, const std::string& own_address,
                       const Tls* tls);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_
