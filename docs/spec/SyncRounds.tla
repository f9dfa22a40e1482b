---------------------------- MODULE SyncRounds ----------------------------
(* Synchronous rounds: lanes, leases, staging on every shard, the coordinator, the round commit that travels with *)
(* the next round, or comes before it, checkpoints at a round, rollback to a new timeline.                        *)
(*                                                                                                                *)
(* The network is a soup: a message, once it could have been sent, may be delivered at any later time, any number *)
(* of times, in any order, or never. An actor <<l, a>> is the a-th lease of lane l. An older one is a zombie: it  *)
(* goes on for ever or stops anywhere; a crashed worker is one that stops. A worker with several lanes is several *)
(* actors. What a receiver does therefore depends only on what it holds and on which messages can exist.          *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  N, B,            \* lanes, backup workers
  S,               \* shards 1..S; the coordinator lives on shard 1
  D1, D2, D3,      \* batches lane 1, 2, 3 has
  Leases,          \* leases per lane
  Timelines,       \* 1 = no shard crash, 2 = one rollback, ...
  Checkpoints,     \* marks the coordinator may set
  \* The rules. TRUE is the protocol; FALSE breaks it on purpose.
  CoordinatorFence,     \* a runner announces its generation to the coordinator before it stages
  ShardFence,      \* a shard refuses a stage of a lower generation
  UniqueGen,       \* no generation is given out twice (FALSE: a restarted chief gives number 1 again)
  CheckTimeline,   \* requests of another timeline are refused
  CheckRound,      \* a shard stages only for its own round
  LiveLanesOnly,   \* a lane without data leaves the count (FALSE: counts as arrived)
  LateAgain,       \* a lane's batch is its cursor: one that came too late is offered again (FALSE: batch r in round r)
  CommitInTurn,    \* a shard passes a round only by the commit of the next one (FALSE: by whichever it hears, again and late)
  CommitLast,      \* the last round commit is carried to the shards at the end
  MarkInSet,       \* the round commit says "save here" (FALSE: the view names a round, shards hear of it late)
  CoordinatorDecides,   \* FALSE: each shard closes by itself with the first N - b lanes staged there
  Rollback,        \* TRUE: everyone returns to the manifest; FALSE: `partial` in a synchronous job
  \* Adding early, so that a shard holds a sum and a few gradients in place of all of them. Without backup workers only.
  AddEarly,        \* a shard adds a lane's gradient before the round is closed
  CountedOnly,     \* ... once it has heard that the coordinator has counted it (FALSE: as soon as it is staged)
  InOrder,         \* ... when all lower lanes are added, or at their end (FALSE: as they come)
  Room,            \* gradients that a shard can hold beside the sum
  NextFits         \* the lane that is to be added next is taken in also where there is no room

Lanes  == 1..N
Shards == 1..S
Actors == 1..Leases
Data   == <<D1, D2, D3>>
Max(x, y) == IF x > y THEN x ELSE y
Min(x, y) == IF x < y THEN x ELSE y
Gen(a) == IF UniqueGen THEN a ELSE IF a = 2 THEN 1 ELSE a
NoStage == [l \in Lanes |-> <<0, 0>>]
NoFence == [l \in Lanes |-> 0]

VARIABLES
  lease,     \* lane -> leases granted
  open,      \* answers of the coordinator: round r is lane l's to compute; they carry the round commit of r - 1
  got,       \* answers of a pull, with the history they reflect
  acks,      \* acknowledged stages
  hist,      \* shard -> sequence of the sets it applied, each a set of <<lane, actor, timeline>>
  stg,       \* shard -> lane -> <<actor, timeline>> staged for the round after hist
  fen,       \* shard -> lane -> highest generation seen
  tls,       \* shard -> timeline, 0 = dead
  k,         \* the coordinator, lost with shard 1: round, arrived, ended lanes, fences
  log,       \* timeline -> what the coordinator closed: sequence of [set, mark]
  ctl,       \* the chief's timeline
  snaps,     \* uploaded parts
  man,       \* last manifest
  asked,     \* MarkInSet = FALSE: the round the view names, 0 = none
  done,
  sum,       \* shard -> sequence of the <<lane, actor, timeline>> it has added for the round after hist
  told,      \* what followers may hear of the coordinator: a lane counted in a round by an actor; actor 0: at its end
  hurt       \* a shard has died and the chief has not yet answered
vars == <<lease, open, got, acks, hist, stg, fen, tls, k, log, ctl, snaps, man, asked, done, sum, told, hurt>>

NewCoordinator(r) == [r |-> r, arr |-> {}, end |-> {}, fen |-> NoFence]

Init ==
  /\ lease = [l \in Lanes |-> 1]
  /\ open = {} /\ got = {} /\ acks = {} /\ snaps = {}
  /\ hist = [s \in Shards |-> <<>>]
  /\ stg = [s \in Shards |-> NoStage]
  /\ fen = [s \in Shards |-> NoFence]
  /\ tls = [s \in Shards |-> 1]
  /\ k = NewCoordinator(1)
  /\ log = [t \in 1..Timelines |-> <<>>]
  /\ ctl = 1
  /\ man = [tl |-> 1, h |-> [s \in Shards |-> <<>>]]
  /\ asked = 0
  /\ done = FALSE
  /\ sum = [s \in Shards |-> <<>>] /\ told = {}
  /\ hurt = FALSE

(* ---- helpers ---- *)
\* The batch that lane l has to offer in round r of a timeline, and the lanes that have one.
Held(tl, l, r) == {i \in 1..Min(r - 1, Len(log[tl])) : \E x \in log[tl][i].set : x[1] = l}
Cursor(tl, l, r) == IF LateAgain THEN Cardinality(Held(tl, l, r)) + 1 ELSE r
WithData(tl, r) == {l \in Lanes : Cursor(tl, l, r) <= Data[l]}
Rounds == D1 + D2 + D3
SameLine(tl, s) == tls[s] # 0 /\ (CheckTimeline => tls[s] = tl)
ArrLanes == {x[1] : x \in k.arr}
Ended == k.end = Lanes

Range(q) == {q[i] : i \in 1..Len(q)}
InSum(s) == {x[1] : x \in Range(sum[s])}
Waiting(s) == {l \in Lanes : stg[s][l][1] # 0}

\* A lane whose turn it is at shard s, as far as what is told goes: all lower ones are in the sum, or at their end.
AtEnd(tl, l) == [tl |-> tl, r |-> 0, l |-> l, a |-> 0] \in told
IsNext(s, tl, l) == l \notin InSum(s) /\ \A m \in 1..(l - 1) : m \in InSum(s) \/ AtEnd(tl, m)

\* The history of shard s after it applied the round commit `c` to what it holds.
Applied(s, c) ==
  Append(hist[s], IF CoordinatorDecides
                  THEN Range(sum[s]) \cup
                       {<<x[1], stg[s][x[1]][1], stg[s][x[1]][2]>> : x \in {y \in c.set : y[1] \notin InSum(s)}}
                  ELSE {<<l, stg[s][l][1], stg[s][l][2]>> : l \in {m \in Lanes : stg[s][m][1] # 0}})

Part(s, tl, h) == [s |-> s, tl |-> tl, n |-> Len(h), h |-> h]

DoApply(s, tl, c) ==
  LET h == Applied(s, c) IN
  /\ hist' = [hist EXCEPT ![s] = h]
  /\ stg' = [stg EXCEPT ![s] = NoStage]
  /\ sum' = [sum EXCEPT ![s] = <<>>]
  /\ snaps' = IF (MarkInSet /\ c.mark)
              THEN snaps \cup {Part(s, tl, h)} ELSE snaps

(* ---- leases ---- *)
Lease(l) ==
  /\ lease[l] < Leases /\ ~done
  /\ lease' = [lease EXCEPT ![l] = @ + 1]
  /\ UNCHANGED <<open, got, acks, hist, stg, fen, tls, k, log, ctl, snaps, man, asked, done, hurt, sum, told>>

(* ---- one step of lane l by its a-th runner ---- *)
Begin(l, a) ==
  LET m == [l |-> l, a |-> a, tl |-> tls[1], r |-> k.r] IN
  /\ tls[1] # 0 /\ a <= lease[l] /\ l \notin k.end /\ m \notin open
  /\ CoordinatorFence => Gen(a) >= k.fen[l] /\ l \notin ArrLanes
  /\ open' = open \cup {m}
  /\ k' = IF CoordinatorFence THEN [k EXCEPT !.fen[l] = Gen(a)] ELSE k
  /\ UNCHANGED <<lease, got, acks, hist, stg, fen, tls, log, ctl, snaps, man, asked, done, hurt, sum, told>>

EndOfData(l, a) ==
  /\ \E m \in open : m.l = l /\ m.a = a /\ Cursor(m.tl, l, m.r) > Data[l] /\ SameLine(m.tl, 1) /\ l \notin k.end
  /\ k' = [k EXCEPT !.end = @ \cup {l}]
  /\ told' = IF AddEarly THEN told \cup {[tl |-> tls[1], r |-> 0, l |-> l, a |-> 0]} ELSE told
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, log, ctl, snaps, man, asked, done, hurt, sum>>

Pull(l, a, s) == \E m \in open :
  /\ m.l = l /\ m.a = a /\ Cursor(m.tl, l, m.r) <= Data[l] /\ SameLine(m.tl, s)
  /\ ~\E g \in got : g.l = l /\ g.a = a /\ g.tl = m.tl /\ g.r = m.r /\ g.s = s
  /\ IF Len(hist[s]) = m.r - 2
     THEN /\ DoApply(s, m.tl, log[m.tl][m.r - 1])
          /\ got' = got \cup {[l |-> l, a |-> a, tl |-> m.tl, r |-> m.r, s |-> s, h |-> Applied(s, log[m.tl][m.r - 1])]}
     ELSE /\ CheckRound => Len(hist[s]) = m.r - 1
          /\ got' = got \cup {[l |-> l, a |-> a, tl |-> m.tl, r |-> m.r, s |-> s, h |-> hist[s]]}
          /\ UNCHANGED <<hist, stg, snaps, sum>>
  /\ UNCHANGED <<lease, open, acks, fen, tls, k, log, ctl, man, asked, done, hurt, told>>

Stage(l, a, s) == \E m \in open :
  /\ m.l = l /\ m.a = a /\ SameLine(m.tl, s)
  /\ \A q \in Shards : \E g \in got : g.l = l /\ g.a = a /\ g.tl = m.tl /\ g.r = m.r /\ g.s = q
  /\ CheckRound => Len(hist[s]) = m.r - 1
  /\ ShardFence => Gen(a) >= fen[s][l]
  /\ \/ stg[s][l] # <<a, m.tl>>
     \/ [l |-> l, a |-> a, tl |-> m.tl, r |-> m.r, s |-> s] \notin acks
  /\ l \in InSum(s) => <<l, a, m.tl>> \in Range(sum[s])
  /\ AddEarly => l \in Waiting(s) \cup InSum(s) \/ Cardinality(Waiting(s)) < Room \/ (NextFits /\ IsNext(s, m.tl, l))
  /\ stg' = IF l \in InSum(s) THEN stg ELSE [stg EXCEPT ![s][l] = <<a, m.tl>>]
  /\ fen' = [fen EXCEPT ![s][l] = Max(@, Gen(a))]
  /\ acks' = acks \cup {[l |-> l, a |-> a, tl |-> m.tl, r |-> m.r, s |-> s]}
  /\ UNCHANGED <<lease, open, got, hist, tls, k, log, ctl, snaps, man, asked, done, hurt, sum, told>>

\* Shard s adds the gradient of lane l to its sum: what has been counted can no longer change.
Add(s, l) ==
  LET a == stg[s][l][1] IN
  /\ AddEarly /\ B = 0 /\ tls[s] # 0 /\ a # 0
  /\ CountedOnly => [tl |-> tls[s], r |-> Len(hist[s]) + 1, l |-> l, a |-> a] \in told
  /\ InOrder => IsNext(s, tls[s], l)
  /\ sum' = [sum EXCEPT ![s] = Append(@, <<l, a, stg[s][l][2]>>)]
  /\ stg' = [stg EXCEPT ![s][l] = <<0, 0>>]
  /\ UNCHANGED <<lease, open, got, acks, hist, fen, tls, k, log, ctl, snaps, man, asked, done, told, hurt>>

Report(l, a) == \E m \in open :
  /\ m.l = l /\ m.a = a /\ SameLine(m.tl, 1) /\ m.r = k.r
  /\ l \notin ArrLanes
  /\ \A s \in Shards : [l |-> l, a |-> a, tl |-> m.tl, r |-> m.r, s |-> s] \in acks
  /\ CoordinatorFence => Gen(a) >= k.fen[l]
  /\ k' = [k EXCEPT !.arr = @ \cup {<<l, a, m.tl>>}]
  /\ told' = IF AddEarly THEN told \cup {[tl |-> m.tl, r |-> m.r, l |-> l, a |-> a]} ELSE told
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, log, ctl, snaps, man, asked, done, hurt, sum>>

(* ---- the coordinator ---- *)
Close ==
  LET tl == tls[1]
      live == N - Cardinality(k.end)
      enough == IF LiveLanesOnly THEN Cardinality(k.arr) >= Max(1, IF live > B THEN live - B ELSE 0)
                ELSE Cardinality(k.arr) + Cardinality(k.end) >= N - B
      marks == Cardinality({<<t, i>> \in (1..Timelines) \X (1..Rounds) : i <= Len(log[t]) /\ log[t][i].mark}) IN
  /\ tl # 0 /\ ~Ended /\ enough
  /\ k.r <= Rounds                       \* cuts only the endless empty rounds of LiveLanesOnly = FALSE
  /\ \E mark \in (IF MarkInSet /\ marks < Checkpoints THEN BOOLEAN ELSE {FALSE}) :
       log' = [log EXCEPT ![tl] = Append(@, [set |-> k.arr, mark |-> mark])]
  /\ k' = [k EXCEPT !.r = @ + 1, !.arr = {}]
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, ctl, snaps, man, asked, done, hurt, sum, told>>

(* ---- a shard hears of a closed round before anybody pulls the next one from it ---- *)
\* From the coordinator, or with a request for another partition of the same process: at any time, or never.
\* Nobody relies on it, so it is none of the steps that have to go on (Progress).
Hear(s) == \E tl \in 1..Timelines : \E r \in 1..Len(log[tl]) :
  /\ SameLine(tl, s)
  /\ CommitInTurn => r = Len(hist[s]) + 1
  /\ DoApply(s, tl, log[tl][r])
  /\ UNCHANGED <<lease, open, got, acks, fen, tls, k, log, ctl, man, asked, done, hurt, told>>

(* ---- the end: the chief carries the last round commit, every shard saves ---- *)
Commit(s) ==
  /\ CommitLast /\ tls[1] = ctl /\ tls[s] = ctl /\ Ended
  /\ Len(hist[s]) + 1 = Len(log[ctl])
  /\ DoApply(s, ctl, log[ctl][Len(log[ctl])])
  /\ UNCHANGED <<lease, open, got, acks, fen, tls, k, log, ctl, man, asked, done, hurt, told>>

FinalSave(s) ==
  /\ tls[1] = ctl /\ tls[s] = ctl /\ Ended
  /\ CommitLast => Len(hist[s]) = Len(log[ctl])
  /\ Part(s, ctl, hist[s]) \notin snaps
  /\ snaps' = snaps \cup {Part(s, ctl, hist[s])}
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, k, log, ctl, man, asked, done, hurt, sum, told>>

Finish ==
  /\ ~done /\ tls[1] = ctl /\ Ended
  /\ CommitLast => man.tl = ctl /\ \A s \in Shards : Len(man.h[s]) = Len(log[ctl])
  /\ done' = TRUE
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, k, log, ctl, snaps, man, asked, hurt, sum, told>>

(* ---- checkpoints ---- *)
AskByView ==                              \* only MarkInSet = FALSE
  /\ ~MarkInSet /\ asked = 0 /\ Checkpoints > 0 /\ tls[1] = ctl
  /\ asked' = Len(log[ctl]) + 1           \* "the next round", as far as the chief knows
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, k, log, ctl, snaps, man, done, hurt, sum, told>>

SaveByView(s) ==                          \* the view arrives; the shard may be past the round
  /\ asked # 0 /\ tls[s] = ctl /\ Len(hist[s]) >= asked
  /\ snaps' = snaps \cup {[s |-> s, tl |-> ctl, n |-> asked, h |-> hist[s]]}
  /\ snaps' # snaps
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, k, log, ctl, man, asked, done, hurt, sum, told>>

Manifest ==
  \E n \in 1..Len(log[ctl]) : \E f \in [Shards -> {p \in snaps : p.tl = ctl /\ p.n = n}] :
    /\ \A s \in Shards : f[s].s = s
    /\ \/ man.tl < ctl
       \/ n > Len(man.h[1])
    /\ man' = [tl |-> ctl, h |-> [s \in Shards |-> f[s].h]]
    /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, k, log, ctl, snaps, asked, done, hurt, sum, told>>

(* ---- a shard dies ---- *)
Crash(s) ==
  /\ ctl < Timelines /\ ~hurt /\ ~done /\ tls[s] = ctl
  /\ hurt' = TRUE
  /\ tls' = [tls EXCEPT ![s] = 0]
  /\ hist' = [hist EXCEPT ![s] = <<>>]
  /\ stg' = [stg EXCEPT ![s] = NoStage]
  /\ sum' = [sum EXCEPT ![s] = <<>>]
  /\ fen' = [fen EXCEPT ![s] = NoFence]
  /\ k' = IF s = 1 THEN NewCoordinator(1) ELSE k
  /\ UNCHANGED <<lease, open, got, acks, log, ctl, snaps, man, asked, done, told>>

NewTimeline ==
  /\ Rollback /\ hurt
  /\ hurt' = FALSE
  /\ ctl' = ctl + 1
  /\ log' = [log EXCEPT ![ctl + 1] = SubSeq(log[man.tl], 1, Min(Len(man.h[1]), Len(log[man.tl])))]
  /\ asked' = 0
  /\ UNCHANGED <<lease, open, got, acks, hist, stg, fen, tls, k, snaps, man, done, sum, told>>

Restore(s) ==
  /\ tls[s] < ctl /\ (Rollback => ~hurt)
  /\ tls' = [tls EXCEPT ![s] = ctl]
  /\ hist' = [hist EXCEPT ![s] = man.h[s]]
  /\ stg' = [stg EXCEPT ![s] = NoStage]
  /\ sum' = [sum EXCEPT ![s] = <<>>]
  /\ fen' = [fen EXCEPT ![s] = NoFence]
  /\ k' = IF s = 1 THEN NewCoordinator(Len(man.h[1]) + 1) ELSE k
  /\ UNCHANGED <<lease, open, got, acks, log, ctl, snaps, man, asked, done, hurt, told>>

(* ---- specification ---- *)
Step(l, a) == Begin(l, a) \/ EndOfData(l, a) \/ Report(l, a) \/ \E s \in Shards : Pull(l, a, s) \/ Stage(l, a, s)
SaveAny == \E s \in Shards : Commit(s) \/ FinalSave(s) \/ Restore(s) \/ SaveByView(s)
AddAny == \E s \in Shards : \E l \in Lanes : Add(s, l)
System == AddAny \/ Close \/ Finish \/ Manifest \/ NewTimeline \/ SaveAny
\* What must go on when faults end: the present runners, the shards, the chief. Zombies need not.
Progress == System \/ \E l \in Lanes : Step(l, lease[l])
Next ==
  \/ System \/ AskByView
  \/ \E l \in Lanes : Lease(l) \/ \E a \in Actors : Step(l, a)
  \/ \E s \in Shards : Hear(s) \/ Crash(s)
Spec == Init /\ [][Next]_vars /\ WF_vars(Progress)

(* ---- invariants ---- *)
Sets(tl) == [i \in 1..Len(log[tl]) |-> log[tl][i].set]
Prefix(h, g) == Len(h) <= Len(g) /\ h = SubSeq(g, 1, Len(h))
LanesOf(x) == {y[1] : y \in x}

\* Shards of one timeline applied the same lanes in the same rounds.
NoTornRound == \A s, q \in Shards : tls[s] = tls[q] =>
  \A i \in 1..Min(Len(hist[s]), Len(hist[q])) : LanesOf(hist[s][i]) = LanesOf(hist[q][i])
\* ... and of every lane the same gradient: one computation, of one generation, of this timeline.
OneGradient == \A s, q \in Shards : tls[s] = tls[q] =>
  \A i \in 1..Min(Len(hist[s]), Len(hist[q])) : hist[s][i] = hist[q][i]
\* What a shard applied is what the coordinator counted.
AppliedIsCounted == \A s \in Shards : tls[s] # 0 => Prefix(hist[s], Sets(tls[s]))
\* A shard adds the gradients of a round in the order of the lanes, so that bits do not depend on who was first.
LaneOrder == \A s \in Shards : tls[s] # 0 => \A i \in 1..Len(sum[s]) : \A m \in 1..(sum[s][i][1] - 1) :
  \/ \E j \in 1..(i - 1) : sum[s][j][1] = m
  \/ ~\E a \in Actors : [tl |-> tls[s], r |-> Len(hist[s]) + 1, l |-> m, a |-> a] \in told
\* Beside the sum a shard holds no more gradients than it has room for, and the one whose turn it is.
FewGradients == AddEarly => \A s \in Shards : Cardinality(Waiting(s)) <= Room + 1
\* At most B of the lanes that have data are left out, never all.
RoundSize == \A t \in 1..Timelines : \A i \in 1..Len(log[t]) :
  LET n == Cardinality(LanesOf(log[t][i].set))
      d == Cardinality(WithData(t, i)) IN n <= d /\ n >= Max(1, IF d > B THEN d - B ELSE 0)
\* A pull for round r reflects exactly the rounds below r.
PullExact == \A g \in got : Len(g.h) = g.r - 1 /\ Prefix(g.h, Sets(g.tl))
\* A manifest is one round of one timeline on every shard.
ManifestWhole == \A s \in Shards : Len(man.h[s]) = Len(man.h[1]) /\ Prefix(man.h[s], Sets(man.tl))
\* At the end the final checkpoint holds every round, and every batch of every lane once, also with backup workers.
EndExact == done => \A s \in Shards :
  /\ man.h[s] = Sets(ctl)
  /\ \A l \in Lanes : Cardinality({i \in 1..Len(man.h[s]) : l \in LanesOf(man.h[s][i])}) = Data[l]
  /\ B = 0 => Len(man.h[s]) = Max(D1, Max(D2, D3))
\* Every step grows a finite set or raises a number, so no behaviour is endless and this is "the job ends".
NeverStuck == done \/ ENABLED <<Progress>>_vars
JobEnds == <>done
=============================================================================
