------------------------------ MODULE MovesTrace -----------------------------
(* A run of the real processes, as ./replay has read it from their traces, is a behaviour of Moves: of one partition    *)
(* that has no backup, step by step. Trace is what happened; it is accepted if every step of it is one of the model's,   *)
(* which TLC says by a violation of NotYet: then all has been replayed. A push says whether the shard knew it already    *)
(* (again), which has to be so exactly where the ledger of its copy holds it, and whether it was answered (told).        *)
EXTENDS Moves, Sequences, TraceData

VARIABLE at      \* of the steps replayed

First == [View1 EXCEPT !.own = Owner]

TraceInit ==
  /\ store = [term |-> 1, view |-> First]
  /\ mem = [t \in 1..Chiefs |-> IF t = 1 THEN First ELSE NoView]
  /\ views = {First}
  /\ inc = [s \in Shards |-> 1]
  /\ seen = [s \in Shards |-> First]
  /\ data = [s \in Shards |-> IF s = Owner THEN [NoCopy EXCEPT !.copy = 100] ELSE NoCopy]
  /\ stg = [s \in Shards |-> NoStage]
  /\ msgs = {} /\ acked = {}
  /\ at = 0

Pushed(x) ==
  /\ Push(x.s, x.p)
  /\ (x.again = 1) = (x.p \in data[x.s].led)
  /\ acked' = IF x.told = 1 THEN acked \cup {<<x.p, seen[x.s].tl>>} ELSE acked

Replay(x) ==
  CASE x.a = "order move"  -> OrderMove(1) /\ mem'[1].to = x.s /\ mem'[1].toinc = x.i
    [] x.a = "switch"      -> Switch(1)
    [] x.a = "cancel move" -> Cancel(1)
    [] x.a = "publish"     -> Publish(1) /\ mem[1].own = x.own /\ mem[1].inc = x.inc
    [] x.a = "learn"       -> Learn(x.s) /\ seen'[x.s].e = x.e
    [] x.a = "crash"       -> Crash(x.s)
    [] x.a = "push"        -> Pushed(x)
    [] x.a = "clone"       -> Clone(x.s)
    [] x.a = "delta"       -> Delta(x.s)
    [] x.a = "rest"        -> Rest(x.s)
    [] x.a = "take clone"  -> TakeClone(x.s)
    [] x.a = "take delta"  -> TakeDelta(x.s)
    [] x.a = "take rest"   -> TakeRest(x.s)
    [] x.a = "ready"       -> Ready(x.s)

TraceNext == at < Len(Trace) /\ Replay(Trace[at + 1]) /\ at' = at + 1
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, at>>
NotYet == at < Len(Trace)
=============================================================================
