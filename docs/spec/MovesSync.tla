------------------------------ MODULE MovesSync ------------------------------
(* A partition of a synchronous job moves between two shards, there and back, while lanes stage and rounds close. With  *)
(* Zero it is partition 0, and the coordinator goes with it. Shard 2 has a partition of its own, Q, which stays; shard 1 *)
(* has none while the moving one, P, is away. One chief, whose views are stored and in order (Moves has the others);    *)
(* the copy and its rest are one message, for what changes before the freeze is in the rest (Moves). No backup workers. *)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
  L,               \* lanes 1..L
  R,               \* rounds
  Leases,          \* of lane 1, one after the other; an older holder goes on as a zombie, or stops anywhere
  Moves,           \* moves the chief may order
  Zero,            \* the moving partition is the coordinator's
  Gradients,       \* lanes that have a gradient for P; the others stage only elsewhere
  \* The rules. TRUE is the protocol; FALSE breaks it on purpose.
  NothingStaged,   \* P freezes only while nothing of the open round is staged in it, and no lane is counted
  Silent,          \* the coordinator answers nobody between the moment of its state and the view
  FencesMove,      \* its state holds whom it listens to
  PassedMoves,     \* the target learns the last round that P has passed
  StagesCount      \* a shard keeps the round commits that a partition it has been sent has not passed

Lanes == 1..L
Shards == {1, 2}
None == [l \in Lanes |-> 0]
Part(r) == [here |-> TRUE, round |-> r, st |-> None, ap |-> {}, froz |-> 0]
Away == [Part(0) EXCEPT !.here = FALSE]
NoCo == [on |-> FALSE, round |-> 0, fence |-> None, arr |-> None]
NoStage == [move |-> 0, part |-> Away, co |-> NoCo]

VARIABLES
  view,     \* own, move (0: none), count of views
  seen,     \* shard -> the view it knows
  p,        \* shard -> its P
  q,        \* shard 2's Q
  log,      \* shard -> round commits known: those of the rounds from lo + 1 to hi
  co,       \* shard -> its coordinator; where it does not move, it is at 1 for ever
  sets,     \* round -> what was closed: lane -> generation; a second set of a round goes to `torn`
  torn,
  counted,  \* <<round, lane, generation>> that a coordinator has counted, and told the shards, which may have added it
  rest,     \* what sources have sent
  stg,      \* shard -> what it has been sent
  gens,     \* of lane 1: leases given
  run       \* <<lane, generation>> -> the round it is at (0: none), and where it has staged
vars == <<view, seen, p, q, log, co, sets, torn, counted, rest, stg, gens, run>>

Runners == {<<l, g>> \in Lanes \X (1..Leases) : l = 1 \/ g = 1}
Idle == [r |-> 0, p |-> FALSE, q |-> FALSE]

Init ==
  /\ view = [e |-> 1, own |-> 1, move |-> 0, m |-> 0]
  /\ seen = [s \in Shards |-> view]
  /\ p = [s \in Shards |-> IF s = 1 THEN Part(0) ELSE Away]
  /\ q = Part(0)
  /\ log = [s \in Shards |-> [lo |-> 0, hi |-> 0]]
  /\ co = [s \in Shards |-> IF s = 1 THEN [NoCo EXCEPT !.on = TRUE] ELSE NoCo]
  /\ sets = <<>> /\ torn = FALSE /\ counted = {}
  /\ rest = {} /\ stg = [s \in Shards |-> NoStage]
  /\ gens = 1
  /\ run = [x \in Runners |-> Idle]

(* ---- rounds on a shard ---- *)
\* A shard that has no partition, and has been sent none, may begin its log anywhere.
Free(s) == s = 1 /\ ~p[1].here /\ (StagesCount => stg[1].move = 0)
Heard(s, r) == LET g == log[s] IN
  IF r = g.hi + 1 THEN [g EXCEPT !.hi = r] ELSE IF r > g.hi /\ Free(s) THEN [lo |-> r, hi |-> r] ELSE g
\* Passes what is known, without a gap.
RECURSIVE CatchUp(_, _)
CatchUp(part, g) ==
  IF ~part.here \/ part.froz # 0 \/ part.round < g.lo \/ part.round >= g.hi THEN part
  ELSE LET r == part.round + 1 IN
    CatchUp([part EXCEPT !.round = r, !.st = None,
                         !.ap = @ \cup {<<r, l, part.st[l]>> : l \in {x \in Lanes : part.st[x] # 0 /\ part.st[x] = sets[r][x]}}], g)

\* A request of round r + 1 reaches the shard, and brings the commit of round r.
Hear(s, r) ==
  /\ log' = [log EXCEPT ![s] = Heard(s, r)]
  /\ p' = [p EXCEPT ![s] = CatchUp(@, log'[s])]
  /\ q' = IF s = 2 THEN CatchUp(q, log'[2]) ELSE q

\* The commit by itself: every request of a round goes to every shard, and at a barrier the chief's call.
HearAny(s) == \E r \in 1..Len(sets) :
  /\ Hear(s, r)
  /\ UNCHANGED <<view, seen, co, sets, torn, counted, rest, stg, gens, run>>

\* All its partitions have passed these rounds.
Forget(s) == LET low == {x.round : x \in {y \in {p[s]} \cup (IF s = 2 THEN {q} ELSE {}) : y.here}}
                         \cup (IF StagesCount /\ stg[s].move # 0 THEN {stg[s].part.round} ELSE {}) IN
  /\ low # {}
  /\ LET r == CHOOSE x \in low : \A y \in low : x <= y IN
     /\ r > log[s].lo /\ r <= log[s].hi
     /\ log' = [log EXCEPT ![s].lo = r]
  /\ UNCHANGED <<view, seen, p, q, co, sets, torn, counted, rest, stg, gens, run>>

(* ---- lanes and the coordinator ---- *)
Grant == gens < Leases /\ gens' = gens + 1 /\ UNCHANGED <<view, seen, p, q, log, co, sets, torn, counted, rest, stg, run>>

Speaks(s) == co[s].on /\ ~(Zero /\ Silent /\ p[s].froz # 0)

Open(x) == LET l == x[1] g == x[2] IN \E s \in Shards :
  /\ Speaks(s) /\ (l = 1 => g <= gens) /\ g >= co[s].fence[l] /\ co[s].round < R
  /\ co' = [co EXCEPT ![s].fence[l] = g]
  \* Counted in the open round, or before its lease: it waits.
  /\ run' = IF co[s].arr[l] # 0 THEN run ELSE [run EXCEPT ![x] = [r |-> co[s].round + 1, p |-> FALSE, q |-> FALSE]]
  /\ UNCHANGED <<view, seen, p, q, log, sets, torn, counted, rest, stg, gens>>

Put(part, l, g) == IF part.st[l] > g THEN part ELSE [part EXCEPT !.st[l] = g]

StageQ(x) == LET r == run[x].r IN
  /\ r # 0 /\ ~run[x].q
  /\ LET g == Heard(2, r - 1)  part == CatchUp(q, g) IN
     /\ part.round = r - 1 /\ part.st[x[1]] <= x[2]
     /\ log' = [log EXCEPT ![2] = g]
     /\ q' = Put(part, x[1], x[2])
     /\ p' = [p EXCEPT ![2] = CatchUp(@, g)]
  /\ run' = [run EXCEPT ![x].q = TRUE]
  /\ UNCHANGED <<view, seen, co, sets, torn, counted, rest, stg, gens>>

StageP(x) == LET r == run[x].r IN
  /\ r # 0 /\ ~run[x].p
  /\ IF x[1] \notin Gradients THEN UNCHANGED <<p, q, log>>
     ELSE \E s \in Shards :
       /\ p[s].here /\ p[s].froz = 0
       /\ LET g == Heard(s, r - 1)  part == CatchUp(p[s], g) IN
          /\ part.round = r - 1 /\ part.st[x[1]] <= x[2]
          /\ log' = [log EXCEPT ![s] = g]
          /\ p' = [p EXCEPT ![s] = Put(part, x[1], x[2])]
          /\ q' = IF s = 2 THEN CatchUp(q, g) ELSE q
  /\ run' = [run EXCEPT ![x].p = TRUE]
  /\ UNCHANGED <<view, seen, co, sets, torn, counted, rest, stg, gens>>

\* Every shard has its gradient. Answered, it asks for the next round.
Report(x) == LET l == x[1] g == x[2] r == run[x].r IN \E s \in Shards :
  /\ r # 0 /\ run[x].p /\ run[x].q /\ Speaks(s) /\ g = co[s].fence[l]
  /\ IF r = co[s].round + 1 /\ co[s].arr[l] = 0
     THEN co' = [co EXCEPT ![s].arr[l] = g] /\ counted' = counted \cup {<<r, l, g>>}
     ELSE UNCHANGED <<co, counted>>
  /\ run' = [run EXCEPT ![x] = Idle]
  /\ UNCHANGED <<view, seen, p, q, log, sets, torn, rest, stg, gens>>

Close(s) == LET c == co[s] r == c.round + 1 IN
  /\ Speaks(s) /\ \A l \in Lanes : c.arr[l] # 0
  /\ co' = [co EXCEPT ![s].round = r, ![s].arr = None]
  /\ IF r > Len(sets) THEN sets' = Append(sets, c.arr) /\ UNCHANGED torn
     ELSE torn' = (torn \/ sets[r] # c.arr) /\ UNCHANGED sets
  /\ UNCHANGED <<view, seen, p, q, log, counted, rest, stg, gens, run>>

(* ---- the move ---- *)
OrderMove ==
  /\ view.move = 0 /\ view.m < Moves
  /\ view' = [view EXCEPT !.e = @ + 1, !.m = @ + 1, !.move = view.m + 1]
  /\ UNCHANGED <<seen, p, q, log, co, sets, torn, counted, rest, stg, gens, run>>

Freeze(s) ==
  /\ seen[s].own = s /\ seen[s].move # 0 /\ p[s].here /\ p[s].froz = 0
  /\ NothingStaged => p[s].st = None /\ (Zero => co[s].arr = None)
  /\ LET c == IF Zero THEN [co[s] EXCEPT !.arr = None, !.fence = IF FencesMove THEN @ ELSE None] ELSE NoCo IN
     rest' = rest \cup {[move |-> seen[s].move, part |-> [p[s] EXCEPT !.st = None], co |-> c]}
  /\ p' = [p EXCEPT ![s].froz = seen[s].move]
  /\ UNCHANGED <<view, seen, q, log, co, sets, torn, counted, stg, gens, run>>

\* The target takes what it can go on with: a round that it has forgotten the next one of is refused.
Take(s) == \E c \in rest :
  /\ seen[s].own # s /\ seen[s].move = c.move /\ stg[s].move # c.move
  /\ StagesCount => log[s].lo <= c.part.round
  /\ stg' = [stg EXCEPT ![s] = c]
  /\ log' = IF PassedMoves /\ c.part.round > log[s].hi
            THEN [log EXCEPT ![s] = IF Free(s) THEN [lo |-> c.part.round, hi |-> c.part.round] ELSE [@ EXCEPT !.hi = c.part.round]]
            ELSE log
  /\ p' = p /\ q' = IF s = 2 THEN CatchUp(q, log'[2]) ELSE q
  /\ UNCHANGED <<view, seen, co, sets, torn, counted, rest, gens, run>>

Switch == LET t == 3 - view.own IN
  /\ view.move # 0 /\ stg[t].move = view.move
  /\ view' = [view EXCEPT !.e = @ + 1, !.own = t, !.move = 0]
  /\ UNCHANGED <<seen, p, q, log, co, sets, torn, counted, rest, stg, gens, run>>

Cancel ==
  /\ view.move # 0
  /\ view' = [view EXCEPT !.e = @ + 1, !.move = 0]
  /\ UNCHANGED <<seen, p, q, log, co, sets, torn, counted, rest, stg, gens, run>>

Learn(s) == LET mine == p[s].here /\ view.own = s
                served == view.own = s /\ ~p[s].here IN
  /\ seen[s] # view
  /\ seen' = [seen EXCEPT ![s] = view]
  /\ p' = [p EXCEPT ![s] = IF mine THEN [@ EXCEPT !.froz = IF @ = view.move THEN @ ELSE 0]
                           ELSE IF served THEN [stg[s].part EXCEPT !.froz = 0] ELSE Away]
  /\ co' = IF ~Zero THEN co
           ELSE [co EXCEPT ![s] = IF mine THEN @ ELSE IF served THEN stg[s].co ELSE NoCo]
  /\ stg' = [stg EXCEPT ![s] = IF @.move = view.move /\ view.own # s THEN @ ELSE NoStage]
  /\ UNCHANGED <<view, q, log, sets, torn, counted, rest, gens, run>>

(* ---- specification ---- *)
Work ==
  \/ \E s \in Shards : HearAny(s) \/ Forget(s) \/ Close(s) \/ Freeze(s) \/ Take(s) \/ Learn(s)
  \/ \E x \in Runners : Open(x) \/ StageQ(x) \/ StageP(x) \/ Report(x)
  \/ Grant \/ Switch \/ Cancel
Next == Work \/ OrderMove
Spec == Init /\ [][Next]_vars

(* ---- invariants ---- *)
\* Each part has applied exactly what the rounds that it has passed consisted of, of the lanes that have something for it.
Is(part, lanes) == part.ap = {<<r, l, sets[r][l]>> : r \in 1..part.round, l \in lanes}
AppliedIsCounted ==
  /\ Is(q, Lanes)
  /\ \A s \in Shards : p[s].here => Is(p[s], Gradients)
OneSet == ~torn
\* What a shard has been told is counted is in the round's set: it may be in a sum already (rule 19).
CountedStays == \A c \in counted : c[1] <= Len(sets) => sets[c[1]][c[2]] = c[3]
OneCoordinator == Cardinality({s \in Shards : Speaks(s)}) <= 1
Done == Len(sets) = R /\ q.round = R /\ \E s \in Shards : p[s].here /\ p[s].round = R
NeverStuck == Done \/ ENABLED <<Work>>_vars
\* A shard that owns P can pass the round after its own once it hears of it.
NoGap == \A s \in Shards : p[s].here => log[s].lo <= p[s].round /\ p[s].round <= log[s].hi
=============================================================================
