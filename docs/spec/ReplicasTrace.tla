---------------------------- MODULE ReplicasTrace ----------------------------
(* A run of the real processes, as ./replay has read it from their traces, is a behaviour of Replicas: of one           *)
(* partition, step by step. Trace is what happened; it is accepted if every step of it is one of the model's, which TLC *)
(* says by a violation of NotYet: then all has been replayed. As in etcd's raft library, the events of a process are     *)
(* written where its state changes.                                                                                      *)
EXTENDS Replicas, Sequences, TraceData

VARIABLE at      \* of the steps replayed

First == [NoView EXCEPT !.e = 100, !.pri = Owner, !.pinc = 1, !.pid = 100, !.c = 100]

TraceInit ==
  /\ store = [term |-> 1, view |-> First]
  /\ mem = [t \in 1..Chiefs |-> IF t = 1 THEN First ELSE NoView]
  /\ views = {First}
  /\ inc = [s \in Shards |-> 1]
  /\ seen = [s \in Shards |-> First]
  /\ data = [s \in Shards |-> IF s = Owner THEN [NoData EXCEPT !.id = 100] ELSE NoData]
  /\ reps = {} /\ got = {} /\ clones = {} /\ ready = {} /\ still = {} /\ acked = {}
  /\ lease = [s \in Shards |-> 0]
  /\ at = 0

\* The view as a step names it: who owns the partition and who backs it up, by which incarnations.
Shows(v, x) == v.pri = x.pri /\ v.pinc = x.pinc /\ v.bak = x.bak /\ (x.bak # 0 => v.binc = x.binc)

Replay(x) ==
  CASE x.a = "order join"       -> OrderJoin(1) /\ mem'[1].join = x.s /\ mem'[1].jinc = x.i
    [] x.a = "form pair"        -> FormPair(1)
    [] x.a = "cancel join"      -> CancelJoin(1)
    [] x.a = "drop backup"      -> DropBackup(1)
    [] x.a = "promote"          -> Promote(1)
    [] x.a = "order hand-over"  -> OrderHandOver(1)
    [] x.a = "hand over"        -> HandOver(1)
    [] x.a = "cancel hand-over" -> CancelHandOver(1)
    [] x.a = "publish"          -> Publish(1) /\ Shows(mem[1], x)
    [] x.a = "learn"            -> Learn(x.s) /\ seen'[x.s].e = x.e
    [] x.a = "crash"            -> Crash(x.s)
    [] x.a = "push"             -> Push(x.s, x.p)
    [] x.a = "replicate"        -> TakeRep(x.s) /\ got' = got \cup {<<seen[x.s].c, x.p>>}
    [] x.a = "answer"           -> Ack(x.s, x.p)
    [] x.a = "clone"            -> Clone(x.s)
    [] x.a = "take clone"       -> TakeClone(x.s)
    [] x.a = "ready"            -> Ready(x.s)
    [] x.a = "stop"             -> Stop(x.s)

TraceNext == at < Len(Trace) /\ Replay(Trace[at + 1]) /\ at' = at + 1
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, at>>
NotYet == at < Len(Trace)
=============================================================================
