----------------------------- MODULE ReplicasSync -----------------------------
(* A partition of a synchronous job, P, on a primary and a backup. What the primary takes in is an operation: it sends *)
(* its operations to the backup in order, and answers when the backup has them. With Zero, P is partition 0, and what  *)
(* its coordinator decides goes the same way. A silent primary is replaced by its backup, a silent backup is dropped,  *)
(* a shard joins as the new backup by the copy and the freeze of a move (MovesSync): all of these are views. Shards    *)
(* crash, or go on as zombies that the chief has given up. Q is a partition of shard 0, which lives. One chief, whose  *)
(* views are stored and in order (Replicas has the others).                                                            *)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
  L,               \* lanes 1..L
  B,               \* backup workers
  R,               \* rounds
  S,               \* shards 1..S may hold P
  Leases,          \* of lane 1, one after the other; an older holder goes on as a zombie, or stops anywhere
  Joins,           \* joins the chief may order
  Crashes,         \* shards that may die
  Zero,            \* P is the coordinator's partition
  \* The rules. TRUE is the protocol; FALSE breaks it on purpose.
  StageBoth,       \* a stage is acknowledged when the backup has it
  OpenBoth,        \* an announced generation is answered when the backup has it
  CountBoth,       \* a report is answered, and shards are told that it counts, when the backup has it
  CloseBoth,       \* nobody hears of a closed round that the backup has not
  InOrder,         \* a backup takes operations in order, without a gap
  PairFence,       \* ... and only those of its view's pair
  NothingStaged,   \* P freezes for a joiner only while nothing of the open round is staged in it, and no lane is counted
  Replace,         \* a shard may join to take the backup's place
  KeepOld,         \* ... which is the backup until the joiner is
  Disown           \* a copy whose round is closed with a stage that it has not seen is not served

Lanes == 1..L
Shards == 1..S
Places == 0..S
None == [l \in Lanes |-> 0]
Part(r) == [id |-> 1, round |-> r, st |-> None, ap |-> {}, froz |-> 0]
Away == [Part(0) EXCEPT !.id = 0]
NoCo == [fence |-> None, arr |-> None, sets |-> <<>>]
NoStage == [id |-> 0, part |-> Away, co |-> NoCo]
NoView == [e |-> 0, pri |-> 0, pinc |-> 0, pid |-> 0, bak |-> 0, binc |-> 0, bid |-> 0, c |-> 0,
           join |-> 0, jinc |-> 0, jid |-> 0, n |-> 0]
View1 == [NoView EXCEPT !.e = 1, !.pri = 1, !.pinc = 1, !.pid = 1, !.bak = 2, !.binc = 1, !.bid = 1, !.c = 1]
Epochs == 1..(2 + 3 * Joins)

VARIABLES
  view,     \* the chief's: primary, backup, the id of their pair, who joins; each with its incarnation and its copy
  seen,     \* shard -> the view it knows
  inc,      \* shard -> its incarnation
  p,        \* shard -> its copy of P
  q,        \* shard 0's Q
  hi,       \* place -> rounds whose commits it has heard
  co,       \* place -> its coordinator; where it is not P's, it is at 0 for ever
  ops,      \* pair -> what its primary sent
  got,      \* pair -> how much of it the backup has answered
  took,     \* shard -> pair and number of the last operation it has taken
  sets,     \* what the world was told of closed rounds: round -> lane -> generation (0: not in it)
  torn,     \* ... and whether it was told two sets for one round
  counted,  \* <<round, lane, generation>> that shards were told is counted: they may have added it
  rest,     \* copies that frozen primaries have sent to joiners
  stg,      \* shard -> the copy it has been sent
  gens,     \* of lane 1: leases given
  run       \* <<lane, generation>> -> the round it is at (0: none), and where its stage is acknowledged
vars == <<view, seen, inc, p, q, hi, co, ops, got, took, sets, torn, counted, rest, stg, gens, run>>
chief == <<view>>
cluster == <<inc, rest, stg, seen>>
told == <<sets, torn, counted>>

Runners == {<<l, g>> \in Lanes \X (1..Leases) : l = 1 \/ g = 1}
Idle == [r |-> 0, p |-> FALSE, q |-> FALSE]

Init ==
  /\ view = View1 /\ seen = [s \in Shards |-> IF s <= 2 THEN View1 ELSE NoView]
  /\ inc = [s \in Shards |-> 1]
  /\ p = [s \in Shards |-> IF s <= 2 THEN Part(0) ELSE Away]
  /\ q = Part(0) /\ hi = [s \in Places |-> 0]
  /\ co = [s \in Places |-> NoCo]
  /\ ops = [c \in Epochs |-> <<>>] /\ got = [c \in Epochs |-> 0]
  /\ took = [s \in Shards |-> [c |-> 1, n |-> 0]]
  /\ sets = <<>> /\ torn = FALSE /\ counted = {}
  /\ rest = {} /\ stg = [s \in Shards |-> NoStage]
  /\ gens = 1 /\ run = [x \in Runners |-> Idle]

(* ---- who is what ---- *)
Is(s, who, i) == who = s /\ i = inc[s]
Primary(s) == Is(s, seen[s].pri, seen[s].pinc) /\ p[s].id # 0
Backup(s) == Is(s, seen[s].bak, seen[s].binc) /\ p[s].id # 0
Paired(s) == IF s = 0 THEN FALSE ELSE seen[s].bak # 0 /\ (KeepOld \/ seen[s].join = 0)
OnBoth(s) == IF Paired(s) THEN got[seen[s].c] = Len(ops[seen[s].c]) ELSE TRUE
Speaks(s) == IF ~Zero THEN s = 0 ELSE IF s = 0 THEN FALSE ELSE Primary(s) /\ p[s].froz = 0

\* The primary's operations go to the backup of its view.
Sent(s, list) == IF Paired(s) THEN [ops EXCEPT ![seen[s].c] = @ \o list] ELSE ops
Op(k, r, l, g) == [k |-> k, r |-> r, l |-> l, g |-> g]

(* ---- rounds on a shard ---- *)
\* A place that has no partition may begin anywhere.
Heard(s, r) == IF r = hi[s] + 1 THEN r ELSE IF r <= hi[s] \/ s = 0 THEN hi[s] ELSE IF p[s].id = 0 THEN r ELSE hi[s]
RECURSIVE CatchUp(_, _)
CatchUp(part, to) ==
  IF part.id = 0 \/ part.froz # 0 \/ part.round >= to THEN part
  ELSE LET r == part.round + 1 IN
    IF Disown /\ \E l \in Lanes : sets[r][l] \notin {0, part.st[l]} THEN Away
    ELSE CatchUp([part EXCEPT !.round = r, !.st = None,
                              !.ap = @ \cup {<<r, l, part.st[l]>> : l \in {x \in Lanes : part.st[x] # 0 /\ part.st[x] = sets[r][x]}}], to)

\* A commit by itself: with a request that belongs to other partitions, or at a barrier with the chief's call.
Hear(s) == \E r \in 1..Len(sets) :
  /\ r > hi[s] /\ Heard(s, r) = r
  /\ hi' = [hi EXCEPT ![s] = r]
  /\ IF s = 0 THEN q' = CatchUp(q, r) /\ UNCHANGED p
     ELSE p' = [p EXCEPT ![s] = CatchUp(@, r)] /\ UNCHANGED q
  /\ UNCHANGED <<chief, cluster, told, co, ops, got, took, gens, run>>

(* ---- lanes ---- *)
Grant == gens < Leases /\ gens' = gens + 1 /\ UNCHANGED <<chief, cluster, told, p, q, hi, co, ops, got, took, run>>

Put(part, l, g) == IF part.st[l] > g THEN part ELSE [part EXCEPT !.st[l] = g]

StageQ(x) == LET r == run[x].r to == Heard(0, r - 1) part == CatchUp(q, to) IN
  /\ r # 0 /\ ~run[x].q
  /\ part.round = r - 1 /\ part.st[x[1]] <= x[2]
  /\ hi' = [hi EXCEPT ![0] = to]
  /\ q' = Put(part, x[1], x[2])
  /\ run' = [run EXCEPT ![x].q = TRUE]
  /\ UNCHANGED <<chief, cluster, told, p, co, ops, got, took, gens>>

\* The stage reaches the primary, first or again; also one without a gradient for P, which is empty.
StageP(x) == LET l == x[1] g == x[2] r == run[x].r IN \E s \in Shards :
  /\ r # 0 /\ ~run[x].p /\ Primary(s) /\ p[s].froz = 0
  /\ LET to == Heard(s, r - 1)
         part == CatchUp(p[s], to)
         put == Put(part, l, g) IN
     /\ part.id # 0 /\ part.round = r - 1 /\ part.st[l] <= g
     /\ hi' = [hi EXCEPT ![s] = to]
     /\ p' = [p EXCEPT ![s] = put]
     /\ ops' = Sent(s, IF put # part THEN <<Op("stage", r, l, g)>> ELSE <<>>)
  /\ UNCHANGED <<chief, cluster, told, q, co, got, took, gens, run>>

AckP(x) == LET l == x[1] g == x[2] r == run[x].r IN \E s \in Shards :
  /\ r # 0 /\ ~run[x].p /\ Primary(s) /\ p[s].froz = 0 /\ p[s].round = r - 1
  /\ p[s].st[l] = g
  /\ StageBoth => OnBoth(s)
  /\ run' = [run EXCEPT ![x].p = TRUE]
  /\ UNCHANGED <<chief, cluster, told, p, q, hi, co, ops, got, took, gens>>

(* ---- the coordinator ---- *)
Open(x) == LET l == x[1] g == x[2] IN \E s \in Places :
  /\ Speaks(s) /\ (l = 1 => g <= gens) /\ g > co[s].fence[l]
  /\ co' = [co EXCEPT ![s].fence[l] = g]
  /\ ops' = Sent(s, <<Op("open", 0, l, g)>>)
  /\ UNCHANGED <<chief, cluster, told, p, q, hi, got, took, gens, run>>

OpenAck(x) == LET l == x[1] g == x[2] IN \E s \in Places : LET r == Len(co[s].sets) + 1 IN
  /\ Speaks(s) /\ co[s].fence[l] = g /\ co[s].arr[l] = 0 /\ r <= R /\ run[x].r # r
  /\ r - 1 <= Len(sets)  \* The answer brings the round commit.
  /\ OpenBoth => OnBoth(s)
  /\ run' = [run EXCEPT ![x] = [Idle EXCEPT !.r = r]]
  /\ UNCHANGED <<chief, cluster, told, p, q, hi, co, ops, got, took, gens>>

Report(x) == LET l == x[1] g == x[2] r == run[x].r IN \E s \in Places :
  /\ r # 0 /\ run[x].p /\ run[x].q /\ Speaks(s) /\ g = co[s].fence[l]
  /\ r = Len(co[s].sets) + 1 /\ co[s].arr[l] = 0
  /\ co' = [co EXCEPT ![s].arr[l] = g]
  /\ ops' = Sent(s, <<Op("count", r, l, g)>>)
  /\ UNCHANGED <<chief, cluster, told, p, q, hi, got, took, gens, run>>

\* Answered, the runner forgets its gradient.
ReportAck(x) == LET l == x[1] r == run[x].r IN \E s \in Places :
  /\ r # 0 /\ run[x].p /\ run[x].q /\ Speaks(s) /\ x[2] = co[s].fence[l]
  /\ r <= Len(co[s].sets) \/ co[s].arr[l] # 0
  /\ CountBoth => OnBoth(s)
  /\ run' = [run EXCEPT ![x] = Idle]
  /\ UNCHANGED <<chief, cluster, told, p, q, hi, co, ops, got, took, gens>>

\* Without backup workers shards are told who is counted, and add their gradients to the sum.
TellCounts(s) == LET fresh == {<<Len(co[s].sets) + 1, l, co[s].arr[l]>> : l \in {x \in Lanes : co[s].arr[x] # 0}} IN
  /\ B = 0 /\ Speaks(s) /\ ~(fresh \subseteq counted)
  /\ CountBoth => OnBoth(s)
  /\ counted' = counted \cup fresh
  /\ UNCHANGED <<chief, cluster, sets, torn, p, q, hi, co, ops, got, took, gens, run>>

Quorum == IF L > B THEN L - B ELSE 1
Close(s) == LET arr == co[s].arr IN
  /\ Speaks(s) /\ Len(co[s].sets) < R /\ Cardinality({l \in Lanes : arr[l] # 0}) >= Quorum
  /\ co' = [co EXCEPT ![s].sets = Append(@, arr), ![s].arr = None]
  /\ ops' = Sent(s, <<Op("close", Len(co[s].sets) + 1, 0, 0)>>)
  /\ UNCHANGED <<chief, cluster, told, p, q, hi, got, took, gens, run>>

TellSet(s) == LET mine == co[s].sets IN
  /\ Speaks(s)
  /\ CloseBoth => OnBoth(s)
  /\ torn' = (torn \/ \E r \in 1..Len(mine) : r <= Len(sets) /\ sets[r] # mine[r])
  /\ sets' = IF Len(mine) > Len(sets) THEN Append(sets, mine[Len(sets) + 1]) ELSE sets
  /\ UNCHANGED <<chief, cluster, counted, p, q, hi, co, ops, got, took, gens, run>>

(* ---- the backup ---- *)
TakeOp(s) == \E c \in Epochs : LET from == IF took[s].c = c THEN took[s].n ELSE 0 IN
  /\ \/ Backup(s) /\ c = seen[s].c
     \/ ~PairFence /\ p[s].id # 0 /\ took[s].c = c
  /\ \E i \in (from + 1)..Len(ops[c]) : LET op == ops[c][i] d == co[s] IN
     /\ InOrder => i = from + 1
     /\ took' = [took EXCEPT ![s] = [c |-> c, n |-> i]]
     /\ got' = [got EXCEPT ![c] = i]
     /\ LET to == Heard(s, IF op.k = "stage" THEN op.r - 1 ELSE 0)
            part == CatchUp(p[s], to) IN
        /\ hi' = [hi EXCEPT ![s] = to]
        /\ p' = [p EXCEPT ![s] = IF op.k = "stage" /\ part.id # 0 /\ part.round = op.r - 1 THEN Put(part, op.l, op.g) ELSE part]
     /\ co' = [co EXCEPT ![s] =
          CASE op.k = "open" /\ op.g > d.fence[op.l] -> [d EXCEPT !.fence[op.l] = op.g]
            [] op.k = "count" /\ op.r = Len(d.sets) + 1 /\ d.arr[op.l] = 0 -> [d EXCEPT !.arr[op.l] = op.g]
            [] op.k = "close" /\ op.r = Len(d.sets) + 1 -> [d EXCEPT !.sets = Append(@, d.arr), !.arr = None]
            [] OTHER -> d]
  /\ UNCHANGED <<chief, cluster, told, q, ops, gens, run>>

(* ---- views: the chief may be wrong about who is silent ---- *)
Decide(v) == view' = [v EXCEPT !.e = view.e + 1] /\ UNCHANGED <<cluster, told, p, q, hi, co, ops, got, took, gens, run>>
Single(v) == [v EXCEPT !.bak = 0, !.binc = 0, !.bid = 0, !.c = 0]
NoJoin(v) == [v EXCEPT !.join = 0, !.jinc = 0, !.jid = 0]
Promote == view.bak # 0 /\ Decide(NoJoin(Single([view EXCEPT !.pri = view.bak, !.pinc = view.binc, !.pid = view.bid])))
Drop == view.bak # 0 /\ Decide(Single(view))
OrderJoin == /\ view.bak = 0 \/ Replace
             /\ view.join = 0 /\ view.n < Joins
             /\ \E s \in Shards \ {view.pri, view.bak} :
                  Decide([view EXCEPT !.join = s, !.jinc = inc[s], !.jid = view.e + 1, !.n = @ + 1])
FormPair == LET j == view.join IN
  /\ j # 0 /\ inc[j] = view.jinc /\ stg[j].id = view.jid
  /\ Decide(NoJoin([view EXCEPT !.bak = j, !.binc = view.jinc, !.bid = view.jid, !.c = view.e + 1]))
CancelJoin == view.join # 0 /\ Decide(NoJoin(view))

Learn(s) == LET v == view
                mine == p[s].id # 0 /\ \/ Is(s, v.pri, v.pinc) /\ p[s].id = v.pid
                                       \/ Is(s, v.bak, v.binc) /\ p[s].id = v.bid
                sent == ~mine /\ \/ Is(s, v.bak, v.binc) /\ stg[s].id = v.bid /\ v.bid # 0
                                 \/ Is(s, v.pri, v.pinc) /\ stg[s].id = v.pid IN
  /\ seen[s] # v
  /\ seen' = [seen EXCEPT ![s] = v]
  /\ p' = [p EXCEPT ![s] = IF mine THEN [@ EXCEPT !.froz = IF @ = v.jid THEN @ ELSE 0] ELSE IF sent THEN stg[s].part ELSE Away]
  /\ co' = IF ~Zero \/ mine THEN co ELSE [co EXCEPT ![s] = IF sent THEN stg[s].co ELSE NoCo]
  /\ stg' = [stg EXCEPT ![s] = IF Is(s, v.join, v.jinc) /\ @.id = v.jid THEN @ ELSE NoStage]
  /\ UNCHANGED <<view, inc, rest, told, q, hi, ops, got, took, gens, run>>

(* ---- a joiner: the copy and its rest are one message, for what changes before the freeze is in the rest (Moves) ---- *)
Freeze(s) ==
  /\ Primary(s) /\ seen[s].join # 0 /\ p[s].froz = 0
  /\ NothingStaged => p[s].st = None /\ (Zero => co[s].arr = None)
  /\ rest' = rest \cup {[id |-> seen[s].jid, co |-> IF Zero THEN [co[s] EXCEPT !.arr = None] ELSE NoCo,
                         part |-> [p[s] EXCEPT !.id = seen[s].jid, !.st = None]]}
  /\ p' = [p EXCEPT ![s].froz = seen[s].jid]
  /\ UNCHANGED <<view, seen, inc, stg, told, q, hi, co, ops, got, took, gens, run>>

Take(s) == \E c \in rest :
  /\ Is(s, seen[s].join, seen[s].jinc) /\ seen[s].jid = c.id /\ stg[s].id # c.id
  /\ stg' = [stg EXCEPT ![s] = c]
  /\ hi' = [hi EXCEPT ![s] = IF c.part.round > @ THEN c.part.round ELSE @]
  /\ UNCHANGED <<view, seen, inc, rest, told, p, q, co, ops, got, took, gens, run>>

Crash(s) ==
  /\ Cardinality({x \in Shards : inc[x] > 1}) < Crashes /\ inc[s] = 1
  /\ inc' = [inc EXCEPT ![s] = @ + 1]
  /\ seen' = [seen EXCEPT ![s] = NoView]
  /\ p' = [p EXCEPT ![s] = Away]
  /\ hi' = [hi EXCEPT ![s] = 0]
  /\ co' = IF Zero THEN [co EXCEPT ![s] = NoCo] ELSE co
  /\ took' = [took EXCEPT ![s] = [c |-> 0, n |-> 0]]
  /\ stg' = [stg EXCEPT ![s] = NoStage]
  /\ UNCHANGED <<view, rest, told, q, ops, got, gens, run>>

(* ---- specification ---- *)
Dead(s, i) == s # 0 /\ inc[s] # i
Work ==
  \/ \E s \in Places : Hear(s) \/ TellCounts(s) \/ Close(s) \/ TellSet(s)
  \/ \E s \in Shards : TakeOp(s) \/ Learn(s) \/ Freeze(s) \/ Take(s)
  \/ \E x \in Runners : StageQ(x) \/ StageP(x) \/ AckP(x) \/ Open(x) \/ OpenAck(x) \/ Report(x) \/ ReportAck(x)
  \/ Grant \/ FormPair
Mend == \/ Dead(view.pri, view.pinc) /\ Promote
        \/ Dead(view.bak, view.binc) /\ Drop
        \/ Dead(view.join, view.jinc) /\ CancelJoin
Next == Work \/ Promote \/ Drop \/ OrderJoin \/ CancelJoin \/ \E s \in Shards : Crash(s)
Spec == Init /\ [][Next]_vars

(* ---- invariants ---- *)
Exact(part) == part.ap = {<<r, l, sets[r][l]>> : r \in 1..part.round, l \in Lanes} \ {<<r, l, 0>> : r \in 1..part.round, l \in Lanes}
\* Each copy has applied exactly what the rounds that it has passed consisted of.
AppliedIsCounted ==
  /\ Exact(q)
  /\ \A s \in Shards : p[s].id # 0 => Exact(p[s])
OneSet == ~torn
CountedStays == \A c \in counted : c[1] <= Len(sets) => sets[c[1]][c[2]] = c[3]
Lost == Dead(view.pri, view.pinc) /\ view.bak = 0
AtEnd == Len(sets) = R /\ q.round = R /\ \E s \in Shards : Is(s, view.pri, view.pinc) /\ p[s].id = view.pid /\ p[s].round = R
NeverStuck == AtEnd \/ Lost \/ ENABLED <<Work \/ Mend>>_vars
\* Whoever serves P can pass the next round once it hears of it.
NoGap == \A s \in Shards : Primary(s) => p[s].round <= hi[s]
===============================================================================
