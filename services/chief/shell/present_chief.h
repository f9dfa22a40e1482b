// Tells whether the chief that has a job, by what the store says, is still at work on it.
#ifndef CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_
#define CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_

#include <string>

#include "capstan/v1/chief_state.pb.h"
#include "chief/shell/job_store.h"

namespace capstan::chief {

// Asks at the address that the state names. True: the chief of this job and term answers. False:
// nobody listens there (found out at once), nobody answers within two seconds, somebody else does,
// or the address is `own_address`, where only the one who asks can be. A chief that listens on the
// loopback of another machine cannot be asked: it is there if it writes its state within three
// seconds, as a chief does that trains.
bool ChiefIsStillThere(JobStore& store, const v1::ChiefState& state,
                       const std::string& own_address);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_PRESENT_CHIEF_H_
