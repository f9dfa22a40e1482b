--------------------------- MODULE SyncRoundsTrace --------------------------
(* A run of the real processes, as ./replay has read it from their traces, is a behaviour of SyncRounds, step by step:   *)
(* its partitions are the model's shards, and the first, which has the coordinator, is shard 1. Trace is what happened;  *)
(* it is accepted if every step of it is one of the model's, which TLC says by a violation of NotYet: then all has been   *)
(* replayed. A step names the lane (l), the runner of it (g), the shard (s) and the round (r), as the process named them; *)
(* a set holds <<lane, runner>>.                                                                                         *)
EXTENDS SyncRounds, TraceData

VARIABLE at      \* of the steps replayed

Names(set) == {<<x[1], x[2]>> : x \in set}
Passed(s) == Len(hist[s])

\* The answer reflects exactly the rounds that the partition has passed, and it passes none for it: that is told before.
Answered(x) ==
  /\ Pull(x.l, x.g, x.s)
  /\ x.n = Passed(x.s) /\ UNCHANGED hist
  /\ [l |-> x.l, a |-> x.g, tl |-> 1, r |-> x.r, s |-> x.s, h |-> hist[x.s]] \in got'

\* A commit is the one that the coordinator has decided, and its n gradients are those that the partition has been given.
HeardOf(x) ==
  /\ Hear(x.s) /\ Len(hist'[x.s]) = x.r
  /\ Names(hist'[x.s][x.r]) = x.set /\ Cardinality(x.set) = x.n

Replay(x) ==
  CASE x.a = "lease"  -> Lease(x.l) /\ lease'[x.l] = x.g
    [] x.a = "begin"  -> Begin(x.l, x.g) /\ k.r = x.r
    [] x.a = "pull"   -> Answered(x)
    [] x.a = "stage"  -> Stage(x.l, x.g, x.s) /\ Passed(x.s) + 1 = x.r
    [] x.a = "report" -> Report(x.l, x.g) /\ k.r = x.r
    [] x.a = "add"    -> Add(x.s, x.l) /\ stg[x.s][x.l][1] = x.g /\ Passed(x.s) + 1 = x.r
    [] x.a = "end"    -> EndOfData(x.l, x.g) /\ k.r = x.r
    [] x.a = "close"  -> Close /\ k.r = x.r /\ Names(k.arr) = x.set
    [] x.a = "hear"   -> HeardOf(x)

TraceInit == Init /\ at = 0
TraceNext == at < Len(Trace) /\ Replay(Trace[at + 1]) /\ at' = at + 1
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, at>>
NotYet == at < Len(Trace)
=============================================================================
