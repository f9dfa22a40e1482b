-------------------------------- MODULE Leases --------------------------------
(* How the end of a lease is measured. One partition on a primary, shard 1, and its backup, shard 2. The primary       *)
(* answers pulls on leases that the answers to its heartbeats bring; the chief, or its successor, promotes the backup  *)
(* when the lease is over. Time goes by in ticks. Each process has a clock of its own, which may miss a tick now and   *)
(* then: what is measured is counted down or up by the clock of whoever measures. Whoever does nothing for a while is   *)
(* frozen; a heartbeat and its answer may be late or lost. What Replicas shows of pushes and views is taken from there. *)
(* A job that returns to a checkpoint, or is begun again after its end, goes on in a later timeline: the shards load    *)
(* anew, and a shard that has not heard of that serves the earlier one, with the leases that it has or still gets.      *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Lease,           \* ticks
  Term,            \* ticks for which a chief takes its term to stand; of any Term + 1 that follow each other clocks miss one at most
  Allowance,       \* so many ticks longer the chief waits; 1 is the protocol, 0 breaks it
  P,               \* pushes
  Chiefs,          \* chiefs that may start; an older one goes on as a zombie, or stops anywhere
  Deaths,          \* the primary may die
  Both,            \* the leases of shard 2 are modelled, too
  Calms,           \* faults end some time, for liveness
  Timelines,       \* 1: all shards serve it from the beginning. More: shard 1 has yet to load the first, and the last chief may begin the next at any time
  Says,            \* a heartbeat says which timeline the shard serves (FALSE: 0, as one that serves none)
  Ends,            \* a chief may find that the job has ended, and have that stored; who comes next begins a later timeline, or does nothing
  LastWrites,      \* the last chief has to write, too. FALSE: it grants whole leases at any time, which is more than it may; no chief comes after it
  \* The rules. TRUE is the protocol; FALSE breaks it on purpose.
  SelfFence,       \* a shard whose lease is over by its own clock answers no pull
  FromSending,     \* a shard counts its lease from when it has sent the heartbeat (FALSE: from the answer)
  ClockRuns,       \* the clock of a process that stands still goes on (FALSE: that of shard 1 may stop as well)
  WaitLease,       \* the backup is promoted when the primary's lease is over by the chief's clock
  WaitOld,         \* ... also the lease that an earlier chief may have granted
  WaitTerm,        \* ... for as long as that chief may take its term to stand (FALSE: for a lease)
  WaitLonger,      \* ... and where this chief grants one itself, until the later end of both (FALSE: until the end of its own)
  Stands,          \* a chief grants no more than what is left of its term since its last write of the state, which showed that it stood
  FromBegin,       \* ... since the beginning of that write (FALSE: since its end)
  OnlyDead,        \* a lease is not waited for only where its process is known to have ended
  SameLine,        \* who says that it serves another timeline than that of the published view gets no lease
  HearsLoads,      \* from when a shard has loaded a timeline its chief waits for a lease, as the shard may have asked for one before
  WaitLater,       \* a chief that begins a later timeline waits on for what its predecessor may yet grant
  EndStored,       \* a chief grants whole leases without a write where it is stored that the job has ended (FALSE: where it has)
  EndSays          \* ... to who says that it serves the timeline of the published view (FALSE: also to who says none)

Shards == {1, 2}
Terms == 1..Chiefs
Leased == IF Both THEN Shards ELSE {1}
Patience == Lease + Allowance
Lines == 1..Timelines
NoView == [e |-> 0, own |-> 0, bak |-> 0, line |-> 0]
View1 == [e |-> 100, own |-> 1, bak |-> 2, line |-> 1]
NoBeat == [k |-> "none", age |-> 0, len |-> 0, line |-> 0]
NoWrite == [k |-> "none", age |-> 0]

VARIABLES
  store,     \* chief.json: term and view
  mem,       \* term -> the view that chief holds, NoView = not started
  views,     \* published
  seen,      \* shard -> its view
  dead,      \* shards that have died
  line,      \* shard -> the timeline that it has loaded and serves, 0 = none
  has,       \* shard -> how many pushes of that its copy has
  acked,     \* timeline -> how many are acknowledged
  left,      \* shard -> ticks of its clock until its lease is over, 0 = it has none
  beat,      \* shard -> its heartbeat under way: sent or granted; ticks of its clock since it was sent, length of the lease, the timeline that it names
  wait,      \* term -> ticks of that chief's clock until the lease of shard 1 is over for it
  stood,     \* term -> ticks of its clock since the write that showed last that its term stood; no more than Term are counted
  write,     \* term -> the write of the state under way: begun, landed or refused; ticks of its clock since it began (until it is refused)
  over,      \* terms of chiefs that know that they are superseded
  ended,     \* terms of chiefs that know that the job has ended
  since,     \* ticks since a clock missed one
  calm       \* no more faults: messages arrive before the next tick, and only the last chief acts
vars == <<store, mem, views, seen, dead, line, has, acked, left, beat, wait, stood, write, over, ended, since, calm>>

Init ==
  /\ store = [term |-> 1, view |-> View1]
  /\ mem = [t \in Terms |-> IF t = 1 THEN View1 ELSE NoView]
  /\ views = {View1}
  /\ seen = [s \in Shards |-> View1]
  /\ dead = {}
  /\ line = [s \in Shards |-> IF s = 1 /\ Timelines > 1 THEN 0 ELSE 1]
  /\ has = [s \in Shards |-> 0] /\ acked = [l \in Lines |-> 0]
  /\ left = [s \in Shards |-> 0]
  /\ beat = [s \in Shards |-> NoBeat]
  /\ wait = [t \in Terms |-> 0]
  /\ stood = [t \in Terms |-> IF t = 1 THEN 0 ELSE Term]
  /\ write = [t \in Terms |-> NoWrite]
  /\ over = {} /\ ended = {}
  /\ since = Term
  /\ calm = FALSE

Owns(s) == s \notin dead /\ seen[s].own = s
\* A pull names a timeline, and is refused by who serves another one, or none.
Serves(s) == Owns(s) /\ line[s] # 0 /\ (SelfFence /\ s \in Leased => left[s] > 0)
\* A chief that another one has followed can store no view, so it does not matter what it waits for.
Decides(t) == store.term = t /\ mem[t].bak # 0
Leads(t) == mem[t] # NoView /\ t \notin over /\ (calm => t = store.term)
Most(a, b) == IF a > b THEN a ELSE b
Less(a, b) == IF a > b THEN a - b ELSE 0
Least(a, b) == IF a < b THEN a ELSE b

Writes(t) == Stands /\ (LastWrites \/ t < Chiefs)

(* ---- time ---- *)
\* When all is calm nothing that can be done is left for the next tick.
Due ==
  \/ \E s \in Leased : Owns(s) /\ (beat[s] # NoBeat \/ left[s] < Lease)
  \/ LET t == store.term IN stood[t] > 0 \/ write[t] # NoWrite \/ mem[t] \notin views
                            \/ \E s \in Shards \ dead : seen[s].e < mem[t].e

\* With several timelines all clocks are alike, so that the worlds stay small: what is waited for is what one timeline has shown to be enough.
\* A chief whose clock is slow waits longer, and harms nobody; but its clock also says how long its term has stood.
Tick == \E slow \in SUBSET {<<"shard", 1>>, <<"chief", 1>>} : LET
    stops == ~ClockRuns /\ slow = {<<"shard", 1>>}
    Late(kind, i) == <<kind, i>> \in slow
    Older(kind, i, n, most) == IF Late(kind, i) \/ n >= most THEN n ELSE n + 1
    Shorter(kind, i, n) == IF Late(kind, i) \/ n = 0 THEN n ELSE n - 1 IN
  /\ slow = {} \/ (Timelines = 1 /\ (stops \/ since >= Term))
  /\ calm => ~Due
  /\ since' = IF slow = {} \/ stops THEN (IF since < Term THEN since + 1 ELSE since) ELSE 0
  /\ left' = [s \in Shards |-> Shorter("shard", s, left[s])]
  /\ beat' = [s \in Shards |-> IF beat[s] = NoBeat THEN NoBeat ELSE [beat[s] EXCEPT !.age = Older("shard", s, @, Lease)]]
  /\ wait' = [t \in Terms |-> Shorter("chief", t, wait[t])]
  /\ stood' = [t \in Terms |-> Older("chief", t, stood[t], Term)]
  /\ write' = [t \in Terms |-> IF write[t] = NoWrite THEN NoWrite ELSE [write[t] EXCEPT !.age = Older("chief", t, @, Term)]]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, over, ended, calm>>

(* ---- leases ---- *)
Beat(s) ==
  /\ s \in Leased /\ Owns(s) /\ beat[s] = NoBeat /\ left[s] < Lease
  /\ beat' = [beat EXCEPT ![s] = [NoBeat EXCEPT !.k = "sent", !.line = IF Says THEN line[s] ELSE 0]]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, wait, stood, write, over, ended, since, calm>>

\* The heartbeat or its answer is lost, or the shard has given it up: what the chief has granted it goes on waiting for.
Lose(s) ==
  /\ ~calm /\ beat[s] # NoBeat
  /\ beat' = [beat EXCEPT ![s] = NoBeat]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, wait, stood, write, over, ended, since, calm>>

\* Nobody takes over any more in the timeline in which the job has ended.
Whole(t, s) == t \in ended /\ (EndSays => beat[s].line = mem[t].line)

\* Only a process that the published view names has a lease. What an earlier chief may yet grant it ends later perhaps.
Grant(t, s) == LET len == IF Writes(t) /\ ~Whole(t, s) THEN Least(Lease, Term - stood[t]) ELSE Lease IN
  /\ Leads(t) /\ mem[t] \in views /\ s \in {mem[t].own, mem[t].bak}
  /\ SameLine => beat[s].line \in {0, mem[t].line}
  /\ beat[s].k = "sent" /\ len > 0
  /\ beat' = [beat EXCEPT ![s].k = "granted", ![s].len = len]
  /\ wait' = [wait EXCEPT ![t] = IF s # 1 \/ ~Decides(t) THEN @ ELSE IF WaitLonger THEN Most(@, Patience) ELSE Patience]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, stood, write, over, ended, since, calm>>

Take(s) ==
  /\ s \notin dead /\ beat[s].k = "granted"
  /\ left' = [left EXCEPT ![s] = Most(@, IF FromSending THEN Less(beat[s].len, beat[s].age) ELSE beat[s].len)]
  /\ beat' = [beat EXCEPT ![s] = NoBeat]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, wait, stood, write, over, ended, since, calm>>

(* ---- the store ---- *)
Write(t) ==
  /\ Writes(t) /\ Leads(t) /\ write[t] = NoWrite /\ stood[t] > 0
  /\ write' = [write EXCEPT ![t].k = "begun"]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, beat, wait, stood, over, ended, since, calm>>

\* Conditional on the write before. It may never land, and the chief may never hear that it has.
Land(t) ==
  /\ write[t].k = "begun"
  /\ write' = [write EXCEPT ![t] = IF store.term = t THEN [@ EXCEPT !.k = "landed"] ELSE [NoWrite EXCEPT !.k = "refused"]]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, beat, wait, stood, over, ended, since, calm>>

Hear(t) ==
  /\ write[t].k \in {"landed", "refused"}
  /\ stood' = [stood EXCEPT ![t] = IF write[t].k = "refused" THEN Term ELSE IF FromBegin THEN write[t].age ELSE 0]
  /\ over' = IF write[t].k = "refused" THEN over \cup {t} ELSE over
  /\ write' = [write EXCEPT ![t] = NoWrite]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, beat, wait, ended, since, calm>>

\* The map of a timeline is made anew, over the shards that are there.
Later(e, l) == [View1 EXCEPT !.e = e, !.line = l + 1]

\* The next chief. What the one before may have granted is waited for; it grants nothing before its first own write.
\* With a job of which it is stored that it has ended it goes on in a later timeline.
Claim == LET t == store.term + 1  again == EndStored /\ store.term \in ended
             v == IF again THEN Later(t * 100 + 1, store.view.line) ELSE [store.view EXCEPT !.e = t * 100] IN
  /\ ~calm /\ t <= Chiefs /\ v.line <= Timelines
  /\ store' = [term |-> t, view |-> v]
  /\ mem' = [mem EXCEPT ![t] = v]
  /\ wait' = [u \in Terms |-> IF u # t \/ ~WaitOld \/ (again /\ ~WaitLater) THEN 0 ELSE IF WaitTerm THEN Term + Allowance ELSE Patience]
  /\ UNCHANGED <<views, seen, dead, line, has, acked, left, beat, stood, write, over, ended, since, calm>>

(* ---- the chief ---- *)
\* The chief may be wrong about who is silent, so this can happen at any time. A view is stored before it is published.
Promote(t) == LET v == mem[t]  w == [v EXCEPT !.e = @ + 1, !.own = v.bak, !.bak = 0] IN
  /\ Leads(t) /\ Decides(t) /\ t \notin ended
  /\ \A s \in Shards : line[s] = v.line
  /\ WaitLease => wait[t] = 0
  /\ calm => v.own \in dead
  /\ mem' = [mem EXCEPT ![t] = w]
  /\ store' = [store EXCEPT !.view = w]
  /\ wait' = [wait EXCEPT ![t] = 0]
  /\ UNCHANGED <<views, seen, dead, line, has, acked, left, beat, stood, write, over, ended, since, calm>>

Publish(t) ==
  /\ Leads(t) /\ mem[t] \notin views
  /\ views' = views \cup {mem[t]}
  /\ UNCHANGED <<store, mem, seen, dead, line, has, acked, left, beat, wait, stood, write, over, ended, since, calm>>

\* The job returns to a checkpoint. A chief whose backups have taken over listens to shard 1 no more, but the next one does.
Begin(t) ==
  /\ t = Chiefs /\ Leads(t) /\ store.term = t /\ mem[t].line < Timelines /\ mem[t].e = t * 100
  /\ LET w == Later(mem[t].e + 1, mem[t].line) IN mem' = [mem EXCEPT ![t] = w] /\ store' = [store EXCEPT !.view = w]
  /\ wait' = IF WaitLater THEN wait ELSE [wait EXCEPT ![t] = 0]
  /\ UNCHANGED <<views, seen, dead, line, has, acked, left, beat, stood, write, over, ended, since, calm>>

End(t) ==
  /\ Ends /\ Leads(t) /\ store.term = t /\ t < Chiefs
  /\ ended' = ended \cup {t}
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, beat, wait, stood, write, over, since, calm>>

\* The process of shard 1 has ended: its port refuses connections, or another process registers in its place.
Forget(t) ==
  /\ Leads(t) /\ Decides(t) /\ wait[t] > 0 /\ (OnlyDead => 1 \in dead)
  /\ wait' = [wait EXCEPT ![t] = 0]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, beat, stood, write, over, ended, since, calm>>

(* ---- shards ---- *)
\* Of what owns nothing no lease is of use, before a later timeline begins. News of that end what is served.
Learn(s) == \E v \in views :
  /\ s \notin dead /\ v.e > seen[s].e
  /\ seen' = [seen EXCEPT ![s] = v]
  /\ left' = [left EXCEPT ![s] = IF v.own = s \/ Timelines > 1 THEN @ ELSE 0]
  /\ beat' = [beat EXCEPT ![s] = IF v.own = s \/ Timelines > 1 THEN @ ELSE NoBeat]
  /\ line' = [line EXCEPT ![s] = IF v.line > @ THEN 0 ELSE @]
  /\ has' = [has EXCEPT ![s] = IF v.line > line[s] THEN 0 ELSE @]
  /\ UNCHANGED <<store, mem, views, dead, acked, wait, stood, write, over, ended, since, calm>>

\* The shard loads the timeline of the view from the checkpoint with which that begins, and its chief hears that it has.
Load(t, s) ==
  /\ Leads(t) /\ mem[t] \in views /\ s \notin dead /\ seen[s] = mem[t] /\ line[s] < mem[t].line
  /\ line' = [line EXCEPT ![s] = mem[t].line]
  /\ wait' = [wait EXCEPT ![t] = IF s = 1 /\ HearsLoads THEN Most(@, Patience) ELSE @]
  /\ UNCHANGED <<store, mem, views, seen, dead, has, acked, left, beat, stood, write, over, ended, since, calm>>

\* Acknowledged is what the pair of a view has; it needs no lease.
Push(s) == LET b == seen[s].bak  l == line[s] IN
  /\ Owns(s) /\ l # 0 /\ acked[l] < P /\ has[s] = acked[l]
  /\ IF b = 0 THEN TRUE ELSE b \notin dead /\ seen[b] = seen[s] /\ line[b] = l
  /\ acked' = [acked EXCEPT ![l] = @ + 1]
  /\ has' = [r \in Shards |-> IF r \in {s, b} THEN acked[l] + 1 ELSE has[r]]
  /\ UNCHANGED <<store, mem, views, seen, dead, line, left, beat, wait, stood, write, over, ended, since, calm>>

Die ==
  /\ ~calm /\ Deaths /\ dead = {}
  /\ dead' = {1}
  /\ UNCHANGED <<store, mem, views, seen, line, has, acked, left, beat, wait, stood, write, over, ended, since, calm>>

Calm ==
  /\ Calms /\ ~calm /\ calm' = TRUE
  /\ UNCHANGED <<store, mem, views, seen, dead, line, has, acked, left, beat, wait, stood, write, over, ended, since>>

(* ---- specification ---- *)
ChiefStep(t) == Write(t) \/ Land(t) \/ Hear(t) \/ Promote(t) \/ Publish(t) \/ Forget(t) \/ Begin(t) \/ End(t)
ShardStep(s) == Beat(s) \/ Take(s) \/ Learn(s) \/ Push(s) \/ \E t \in Terms : Grant(t, s) \/ Load(t, s)
Next ==
  \/ Tick \/ Claim \/ Die \/ Calm
  \/ \E t \in Terms : ChiefStep(t)
  \/ \E s \in Shards : ShardStep(s) \/ Lose(s)
Spec ==
  /\ Init /\ [][Next]_vars /\ WF_vars(Tick)
  /\ \A t \in Terms : WF_vars(Write(t)) /\ WF_vars(Land(t)) /\ WF_vars(Hear(t)) /\ WF_vars(Promote(t)) /\ WF_vars(Publish(t))
  /\ \A s \in Shards : WF_vars(Beat(s)) /\ WF_vars(\E t \in Terms : Grant(t, s)) /\ WF_vars(Take(s)) /\ WF_vars(Learn(s))

(* ---- invariants ---- *)
\* Where shards do not say which timeline they serve, this holds of the present one alone.
Minds(s) == Serves(s) /\ (Says \/ line[s] = store.view.line)
\* A shard that answers a pull has all that was acknowledged before, in the timeline that the pull names.
FreshPull == \A s \in Shards : Minds(s) => has[s] = acked[line[s]]
\* No two answer pulls of a timeline at one time.
OneServes == \A l \in Lines : Cardinality({s \in Shards : Minds(s) /\ line[s] = l}) <= 1
\* When faults have ended, pulls are answered, and go on being answered.
PullsGoOn == calm ~> [](\E s \in Shards : Serves(s))
=============================================================================
