----------------------------- MODULE MovesCloses -----------------------------
(* Streams are closed while a partition moves from shard 1 to shard 2. The tasks of the streams are done; the chief has  *)
(* each shard close them for all that it has, and forgets a close that every shard has confirmed. What moves, and how,   *)
(* is in Moves; here the copy is what is closed in it as of the freeze. Orders are a soup: one may arrive late, again,    *)
(* or never. Each shard hears of views when it does.                                                                     *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  C,               \* streams 1..C
  Moves,           \* moves that the chief may order
  Both,            \* the target has other partitions before, and the source afterwards
  \* The rules. TRUE is the protocol; FALSE breaks it on purpose.
  Quiet,           \* no close is begun from when all is copied until the view of the switch is published
  QuietLasts,      \* ... (FALSE: until it is decided)
  Settled,         \* a source is frozen only when every close that was begun is confirmed by all
  Followed,        \* a shard carries out no order by a view that it does not follow yet
  RefuseClose      \* a frozen partition answers no close

Shards == {1, 2}
Streams == 1..C
View1 == [e |-> 1, own |-> 1, copy |-> 1, mov |-> 0]
NoCopy == [here |-> 0, froz |-> 0, shut |-> {}]

VARIABLES
  view,      \* the newest, stored
  told,      \* all that are published
  done,      \* streams whose close waits
  begun,     \* stream -> shards that have confirmed its close, for closes that not all have confirmed
  shut,      \* streams that all have closed: the chief has forgotten them
  calls,     \* orders of which the chief awaits the answer
  phase,     \* of the move: none, copying, quiet, finishing, switched
  orders,    \* <<stream, shard, view that was published then>>
  answers,   \* the same
  seen,      \* shard -> the view that it follows
  data,      \* shard -> the copy that it owns: name, frozen by which move, streams that are closed in it
  rests      \* the copies of moves, complete: <<move, streams that are closed>>
vars == <<view, told, done, begun, shut, calls, phase, orders, answers, seen, data, rests>>
chief == <<view, told, done, begun, shut, calls, phase>>
shards == <<seen, data, rests>>

Init ==
  /\ view = View1 /\ told = {View1} /\ phase = "none"
  /\ done = {} /\ begun = <<>> /\ shut = {} /\ calls = {} /\ orders = {} /\ answers = {}
  /\ seen = [s \in Shards |-> View1]
  /\ data = [s \in Shards |-> IF s = 1 THEN [NoCopy EXCEPT !.here = 1] ELSE NoCopy]
  /\ rests = {}

Published == CHOOSE v \in told : \A w \in told : w.e <= v.e
\* All that hold partitions.
Owners == IF Both THEN Shards ELSE {view.own}

(* ---- closes ---- *)
Begun == DOMAIN begun
With(f, k, x) == [i \in DOMAIN f \cup {k} |-> IF i = k THEN x ELSE f[i]]
Without(f, ks) == [i \in DOMAIN f \ ks |-> f[i]]
Hush == Quiet /\ (phase \in {"quiet", "finishing"} \/ (QuietLasts /\ phase = "switched"))

Finish(st) ==
  /\ st \notin done \cup Begun \cup shut
  /\ done' = done \cup {st}
  /\ UNCHANGED <<view, told, begun, shut, calls, phase, orders, answers, shards>>

PassOn(st) ==
  /\ st \in done /\ ~Hush
  /\ done' = done \ {st} /\ begun' = With(begun, st, {})
  /\ UNCHANGED <<view, told, shut, calls, phase, orders, answers, shards>>

\* One order to each shard at a time, by the view that is published.
Send(st, s) == LET o == <<st, s, Published.e>> IN
  /\ st \in Begun /\ s \in Owners \ begun[st] /\ ~\E c \in calls : c[2] = s
  /\ calls' = calls \cup {o} /\ orders' = orders \cup {o}
  /\ UNCHANGED <<view, told, done, begun, shut, phase, answers, shards>>

\* The answer is late or lost, or it says that the shard cannot do it now.
GiveUp(c) ==
  /\ c \in calls
  /\ calls' = calls \ {c}
  /\ UNCHANGED <<view, told, done, begun, shut, phase, orders, answers, shards>>

Confirm(c) == LET all == With(begun, c[1], begun[c[1]] \cup {c[2]})
                  over == {st \in DOMAIN all : Owners \subseteq all[st]} IN
  /\ c \in calls /\ c \in answers /\ c[1] \in Begun
  /\ calls' = calls \ {c}
  /\ begun' = Without(all, over) /\ shut' = shut \cup over
  /\ UNCHANGED <<view, told, done, phase, orders, answers, shards>>

(* ---- moves ---- *)
Decide(v) == view' = v /\ UNCHANGED <<told, done, begun, shut, calls, orders, answers, shards>>
Order == phase = "none" /\ Published = view /\ view.e <= 2 * Moves
         /\ phase' = "copying" /\ Decide([view EXCEPT !.e = @ + 1, !.mov = view.e + 1])
Copied ==
  /\ phase = "copying" /\ seen[view.own] = view
  /\ phase' = "quiet"
  /\ UNCHANGED <<view, told, done, begun, shut, calls, orders, answers, shards>>
MaySwitch == Settled => Begun = {} /\ calls = {}
Freeze ==
  /\ phase = "quiet" /\ MaySwitch
  /\ phase' = "finishing"
  /\ UNCHANGED <<view, told, done, begun, shut, calls, orders, answers, shards>>
Switch ==
  /\ phase = "finishing" /\ \E r \in rests : r[1] = view.mov
  /\ phase' = "switched" /\ Decide([e |-> view.e + 1, own |-> 3 - view.own, copy |-> view.mov, mov |-> 0])
Cancel ==
  /\ phase \in {"copying", "quiet", "finishing"}
  /\ phase' = "none" /\ Decide([view EXCEPT !.e = @ + 1, !.mov = 0])
Publish ==
  /\ view \notin told
  /\ told' = told \cup {view}
  /\ phase' = IF phase = "switched" THEN "none" ELSE phase
  /\ UNCHANGED <<view, done, begun, shut, calls, orders, answers, shards>>

(* ---- shards ---- *)
Follow(s) == \E v \in told :
  /\ v.e > seen[s].e
  /\ seen' = [seen EXCEPT ![s] = v]
  /\ data' = [data EXCEPT ![s] =
       IF v.own # s THEN NoCopy
       ELSE IF @.here = v.copy THEN (IF @.froz = v.mov THEN @ ELSE [@ EXCEPT !.froz = 0])
       ELSE [NoCopy EXCEPT !.here = v.copy, !.shut = (CHOOSE r \in rests : r[1] = v.copy)[2]]]
  /\ UNCHANGED <<chief, orders, answers, rests>>

\* The source stands still, and sends the rest with all that is closed.
SendRest(s) == LET m == seen[s].mov IN
  /\ phase = "finishing" /\ view.mov = m /\ m # 0 /\ data[s].here # 0 /\ data[s].froz = 0
  /\ data' = [data EXCEPT ![s].froz = m]
  /\ rests' = rests \cup {<<m, data[s].shut>>}
  /\ UNCHANGED <<chief, orders, answers, seen>>

\* For all partitions that are here.
Handle(s) == \E o \in orders : LET d == data[s] IN
  /\ o[2] = s /\ (Followed => o[3] <= seen[s].e)
  /\ (d.here # 0 /\ RefuseClose) => d.froz = 0
  /\ answers' = answers \cup {o}
  /\ data' = [data EXCEPT ![s].shut = IF d.here = 0 THEN @ ELSE @ \cup {o[1]}]
  /\ UNCHANGED <<chief, orders, seen, rests>>

(* ---- specification ---- *)
Progress ==
  \/ Copied \/ Freeze \/ Switch \/ Cancel \/ Publish
  \/ \E st \in Streams : Finish(st) \/ PassOn(st) \/ \E s \in Shards : Send(st, s)
  \/ \E c \in calls : Confirm(c)
  \/ \E s \in Shards : Follow(s) \/ SendRest(s) \/ Handle(s)
Next == Progress \/ Order \/ \E c \in calls : GiveUp(c)
Spec == Init /\ [][Next]_vars /\ WF_vars(Progress)

(* ---- invariants ---- *)
\* What all have confirmed is closed in the copy of the owner that the newest view names.
ClosedIsKept == LET d == data[view.own] IN
  shut \subseteq (IF d.here = view.copy THEN d.shut ELSE (CHOOSE r \in rests : r[1] = view.copy)[2])
\* A frozen partition is as it was sent.
AsSent == \A s \in Shards, r \in rests : (data[s].here # 0 /\ data[s].froz = r[1]) => data[s].shut = r[2]
NeverStuck == shut = Streams \/ ENABLED <<Progress>>_vars
=============================================================================
