-------------------------- MODULE ExactlyOnceTrace --------------------------
(* A run of the real processes, as ./replay has read it from their traces, is a behaviour of ExactlyOnce, step by step:   *)
(* of all its tasks and partitions together, which are numbered from 1. Trace is what happened; it is accepted if every    *)
(* step of it is one of the model's, which TLC says by a violation of NotYet: then all has been replayed. A step names the *)
(* task (t), the lease of it (l), the batch (q) and the partition (p), as the process named them; again: the partition     *)
(* knew the push already. prog is the progress of all tasks that a process has stored, saved or returned to.               *)
EXTENDS ExactlyOnce, TraceData

VARIABLE at      \* of the steps replayed

\* A partition that takes in what is new to it applies it, and one that says that it knew it changes no parameter.
Pushed(x) ==
  LET applied(of) == of[x.p].appl[<<x.t, x.q>>] IN
  /\ Push(x.t, x.l, x.q, x.p, x.low)
  /\ IF x.again = 1 THEN applied(part') = applied(part) ELSE applied(part') = applied(part) + 1

\* The same runner has sent it once more, for it has not heard the answer. This changes nothing, and is no step of the model.
SentAgain(x) ==
  /\ x.again = 1 /\ [t |-> x.t, q |-> x.q, a |-> x.l, p |-> x.p] \in acks
  /\ tlp[x.p] = born[x.t][x.l].tl
  /\ \/ x.t \in part[x.p].closed
     \/ x.l >= part[x.p].fen[x.t] /\ Settled(part[x.p], x.t, x.q)
  /\ UNCHANGED vars

\* Shards are told to close a stream until they have said that it is closed.
Shut(x) ==
  \/ CloseAt(x.t, x.p)
  \/ x.t \in part[x.p].closed /\ [t |-> x.t, tl |-> tlp[x.p]] \in closes /\ UNCHANGED vars

Stored(x) == IF x.prog = stored THEN UNCHANGED vars ELSE Store(x.prog, book.kept)

Replay(x) ==
  CASE x.a = "lease"    -> Lease(x.t) /\ lease'[x.t] = x.l /\ prog[x.t] = x.q
    [] x.a = "push"     -> Pushed(x) \/ SentAgain(x)
    [] x.a = "report"   -> Report(x.t, x.l, x.q)
    [] x.a = "store"    -> Stored(x)
    [] x.a = "send close" -> SendClose(x.t) /\ Batches[x.t] = x.q
    [] x.a = "close"    -> Shut(x) /\ Batches[x.t] = x.q
    [] x.a = "record"   -> Record
    [] x.a = "clone"    -> Clone(x.p)
    [] x.a = "manifest" -> Manifest /\ man'.prog = x.prog
    [] x.a = "give up"  -> GiveUp
    [] x.a = "timeline" -> NewTimeline /\ ctl' = x.tl /\ prog' = x.prog
    [] x.a = "restore"  -> Restore(x.p) /\ tlp'[x.p] = x.tl
    [] x.a = "finish"   -> Finish

TraceInit == Init /\ at = 0
TraceNext == at < Len(Trace) /\ Replay(Trace[at + 1]) /\ at' = at + 1
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, at>>
NotYet == at < Len(Trace)
=============================================================================
