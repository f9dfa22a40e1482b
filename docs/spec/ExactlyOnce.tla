---------------------------- MODULE ExactlyOnce ----------------------------
(* The async and ssp policies and durability: tasks as streams of seqs, generations, a ledger per partition,   *)
(* progress at the chief, closed streams, fuzzy checkpoints, rollback, partial recovery, the aggregation queue.  *)
(*                                                                                                               *)
(* The network is a soup, as in SyncRounds: whatever could have been sent may arrive late, again, or never. An   *)
(* actor <<t, a>> is the a-th lease of task t; older ones are zombies, a crashed one just stops.                 *)
(* Each partition lives on a shard of its own.                                                                   *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Len1, Len2,      \* batches of task 1 and 2 (0: there is no such task)
  W,               \* window: seqs of a stream a client may have unacknowledged
  Leases, Timelines, Checkpoints, Partials, ChiefCrashes,   \* budgets
  Queue,           \* TRUE: aggregate, gradients are acknowledged when queued
  Drops,           \* TRUE: the policy may drop
  Unstored,        \* TRUE: a task may be leased before that is stored, and the next chief may not know of it
  Sparse,          \* TRUE: batch 0 of task 1 does not touch partition 2
  \* The rules. TRUE is the protocol; FALSE breaks it on purpose.
  Dedupe,          \* a partition looks into its ledger
  LedgerSaved,     \* the clone holds the ledger
  Fence,           \* a lower generation is refused
  CheckTimeline,   \* another timeline is refused, by partitions and by the chief
  Window,          \* clients and partitions keep to the window
  AloneOnly,       \* a gap counts as lost only where a partition recovered partially
  LowWatermark,         \* a push carries the lowest seq unacknowledged; the prefix goes there
  KeepClosed,      \* a closed stream leaves a mark (FALSE: forgotten altogether)
  ClosedSettled,   \* a push of a closed stream is answered "settled" (FALSE: refused)
  HoldOff,         \* no stream is closed while a checkpoint is being taken
  StoreFirst,      \* a stream is closed only after the chief stored the task as done
  CloseCounts,     \* a close names the number of batches; what is missing is reported as lost
  RecordFirst,     \* progress is recorded before the first clone (FALSE: with the manifest)
  FlushAtClone,    \* the queue is flushed when the partition is cloned
  ProgFromManifest,\* after a rollback progress is the manifest's (FALSE: that of chief.json)
  Told,            \* a partition that recovers partially is told generations and progress before it serves
  KnownOnly,       \* of a task of which it is not told it refuses the leases there are, and so does the chief
  AloneSaved,      \* the clone holds that its partition had recovered partially
  CloseAgain       \* after a rollback streams are closed again that the copies may hold open

Parts == {1, 2}               \* ExactlyOnceTrace has others in the place of these two lines.
Batches == <<Len1, Len2>>
Tasks == {t \in DOMAIN Batches : Batches[t] > 0}
Seqs(t) == 0..(Batches[t] - 1)
Recs == UNION {{t} \X Seqs(t) : t \in Tasks}
Actors == 1..Leases
Touches(t, q, p) == ~(Sparse /\ t = 1 /\ q = 0 /\ p = 2)
Max(x, y) == IF x > y THEN x ELSE y

VARIABLES
  lease,     \* task -> leases granted
  book,      \* task -> its latest lease as the chief knows it (known) and has stored it (kept), 0: it is not begun; and the
             \* latest of those that it does not adopt (bar); shut: tasks that it need not close in this timeline, for they
             \* are closed in the copies to which all have returned
  born,      \* task -> actor -> [tl, start]
  acks,      \* acknowledged pushes [t, q, a, p]
  part,      \* partition -> its state, see Fresh
  tlp,       \* partition -> timeline
  ctl,       \* the chief's timeline
  prog,      \* the chief's memory: contiguous acknowledged prefix of a task
  stored,    \* chief.json: progress
  closes,    \* close messages [t, tl]
  ck,        \* checkpoint under way: [on, prog, open, parts]
  man,       \* last manifest: [prog, open, parts]; open: done by its progress, and perhaps not closed in every part
  used,      \* budgets spent: [ck, partial, chief]
  top,       \* partition -> task -> highest generation it ever accepted in this timeline
  broken,    \* an update passed a fence
  done
vars == <<book, lease, born, acks, part, tlp, ctl, prog, stored, closes, ck, man, used, top, broken, done>>

Fresh == [pre    |-> [t \in Tasks |-> 0],      \* ledger: all below is settled
          abv    |-> [t \in Tasks |-> {}],     \* ledger: settled above it
          fen    |-> [t \in Tasks |-> 0],
          closed |-> {},
          appl   |-> [r \in Recs |-> 0],       \* the parameters: how often each gradient is in them
          queue  |-> {}, drop |-> {}, lost |-> {},
          alone  |-> FALSE, heard |-> {}]      \* came back by partial recovery; the tasks of which gaps count as lost then
NoCk == [on |-> FALSE, prog |-> [t \in Tasks |-> 0], open |-> {}, parts |-> <<>>]
Zero == [p \in Parts |-> [t \in Tasks |-> 0]]

Init ==
  /\ lease = [t \in Tasks |-> 1]
  /\ book = [known |-> lease, kept |-> [t \in Tasks |-> IF Unstored THEN 0 ELSE 1], bar |-> [t \in Tasks |-> 0], shut |-> {}]
  /\ born = [t \in Tasks |-> [a \in Actors |-> [tl |-> IF a = 1 THEN 1 ELSE 0, start |-> 0]]]
  /\ acks = {} /\ closes = {}
  /\ part = [p \in Parts |-> Fresh]
  /\ tlp = [p \in Parts |-> 1]
  /\ ctl = 1
  /\ prog = [t \in Tasks |-> 0]
  /\ stored = [t \in Tasks |-> 0]
  /\ ck = NoCk
  /\ man = [prog |-> [t \in Tasks |-> 0], open |-> {}, parts |-> [p \in Parts |-> Fresh]]
  /\ used = [ck |-> 0, partial |-> 0, chief |-> 0]
  /\ top = Zero
  /\ broken = FALSE /\ done = FALSE

(* ---- helpers ---- *)
AckPrefix(t, a) ==
  LET full(q) == \A p \in Parts : Touches(t, q, p) => [t |-> t, q |-> q, a |-> a, p |-> p] \in acks
      ok == {n \in born[t][a].start..Batches[t] : \A q \in born[t][a].start..(n - 1) : full(q)}
  IN CHOOSE n \in ok : \A m \in ok : m <= n
Settled(x, t, q) == q < x.pre[t] \/ q \in x.abv[t]
\* Prefix at least n, then over what lies directly above.
Norm(pre, abv) == CHOOSE n \in pre..(pre + Cardinality(abv)) : (\A i \in pre..(n - 1) : i \in abv) /\ n \notin abv
WithPrefix(x, t, n) ==
  LET pre == Norm(Max(x.pre[t], n), x.abv[t])
      gap == {<<t, q>> : q \in {i \in Seqs(t) : i < n /\ ~Settled(x, t, i)}}
  IN [x EXCEPT !.pre[t] = pre, !.abv[t] = {q \in @ : q > pre},
               !.lost = IF (x.alone /\ t \in x.heard) \/ ~AloneOnly THEN @ \cup gap ELSE @]
Marked(x, t, q) ==
  LET pre == Norm(x.pre[t], x.abv[t] \cup {q})
  IN [x EXCEPT !.pre[t] = pre, !.abv[t] = {i \in @ \cup {q} : i > pre}]
Flushed(x) == [x EXCEPT !.appl = [r \in Recs |-> @[r] + (IF r \in x.queue THEN 1 ELSE 0)], !.queue = {}]

(* ---- leases and pushes ---- *)
Lease(t) ==
  /\ \/ lease[t] < Leases - (Timelines - ctl) - (IF Unstored THEN ChiefCrashes - used.chief ELSE 0)
     \/ (born[t][lease[t]].tl < ctl /\ lease[t] < Leases)
  /\ prog[t] < Batches[t] /\ ~done
  /\ lease' = [lease EXCEPT ![t] = @ + 1]
  /\ book' = [book EXCEPT !.known[t] = lease[t] + 1, !.kept[t] = IF Unstored THEN @ ELSE lease[t] + 1]
  /\ born' = [born EXCEPT ![t][lease[t] + 1] = [tl |-> ctl, start |-> prog[t]]]
  /\ UNCHANGED <<acks, part, tlp, ctl, prog, stored, closes, ck, man, used, top, broken, done>>

Push(t, a, q, p, low) ==
  LET x == part[p]
      y == IF LowWatermark THEN WithPrefix(x, t, low) ELSE x
      m == [t |-> t, q |-> q, a |-> a, p |-> p]
      ack == acks' = acks \cup {m}
      accept(z) == part' = [part EXCEPT ![p] = [z EXCEPT !.fen[t] = Max(@, a)]]
      fresh == {[Marked(y, t, q) EXCEPT !.appl[<<t, q>>] = @ + 1]}
      queued == {[Marked(y, t, q) EXCEPT !.queue = @ \cup {<<t, q>>}]}
      dropped == {[Marked(y, t, q) EXCEPT !.drop = @ \cup {<<t, q>>}]}
  IN
  /\ a <= lease[t] /\ q \in born[t][a].start..(Batches[t] - 1) /\ Touches(t, q, p)
  /\ low \in born[t][a].start..AckPrefix(t, a) /\ low <= q /\ (Window => q < low + W)
  /\ tlp[p] # 0 /\ (CheckTimeline => tlp[p] = born[t][a].tl)
  /\ Fence => a >= x.fen[t]
  /\ \/ /\ t \in x.closed /\ ClosedSettled /\ ack /\ m \notin acks
        /\ UNCHANGED <<part, top, broken>>
     \/ /\ t \notin x.closed /\ Dedupe /\ Settled(y, t, q) /\ ack /\ m \notin acks
        /\ accept(y) /\ UNCHANGED <<top, broken>>
     \/ /\ t \notin x.closed /\ (Dedupe => ~Settled(y, t, q)) /\ (Window => q < y.pre[t] + W) /\ ack
        /\ (~Dedupe => x.appl[<<t, q>>] < 2)
        /\ \E z \in (IF Queue THEN queued ELSE fresh) \cup (IF Drops THEN dropped ELSE {}) : accept(z)
        /\ top' = [top EXCEPT ![p][t] = Max(@, a)]
        /\ broken' = (broken \/ a < top[p][t] \/ born[t][a].tl # tlp[p])
  /\ UNCHANGED <<book, lease, born, tlp, ctl, prog, stored, closes, ck, man, used, done>>

Flush(p) ==
  /\ part[p].queue # {} /\ tlp[p] # 0
  /\ part' = [part EXCEPT ![p] = Flushed(@)]
  /\ UNCHANGED <<book, lease, born, acks, tlp, ctl, prog, stored, closes, ck, man, used, top, broken, done>>

(* ---- the chief ---- *)
\* The runner says how far it is, or how far it was when it said so: a report comes late, too.
Report(t, a, n) ==
  /\ a <= lease[t] /\ n > prog[t] /\ n <= AckPrefix(t, a)
  /\ CheckTimeline => born[t][a].tl = ctl
  /\ a > book.bar[t]              \* one of which this chief does not know it adopts
  /\ book' = [book EXCEPT !.known[t] = Max(@, a)]
  /\ prog' = [prog EXCEPT ![t] = n]
  /\ UNCHANGED <<lease, born, acks, part, tlp, ctl, stored, closes, ck, man, used, top, broken, done>>

\* What is stored is as it was when the write began.
Store(v, w) ==
  /\ v # stored \/ w # book.kept
  /\ \A t \in Tasks : v[t] >= stored[t] /\ v[t] <= prog[t] /\ w[t] >= book.kept[t] /\ w[t] <= book.known[t]
  /\ \A t \in Tasks : v[t] > stored[t] => w[t] > 0
  /\ stored' = v /\ book' = [book EXCEPT !.kept = w]
  /\ UNCHANGED <<lease, born, acks, part, tlp, ctl, prog, closes, ck, man, used, top, broken, done>>

SendClose(t) ==
  LET m == [t |-> t, tl |-> ctl] IN
  /\ m \notin closes /\ prog[t] = Batches[t]
  /\ StoreFirst => stored[t] = Batches[t]
  /\ HoldOff => ~ck.on
  /\ closes' = closes \cup {m}
  /\ UNCHANGED <<book, lease, born, acks, part, tlp, ctl, prog, stored, ck, man, used, top, broken, done>>

Closed(x, t) ==
  LET y == IF CloseCounts THEN WithPrefix(x, t, Batches[t]) ELSE x IN
  [y EXCEPT !.pre[t] = 0, !.abv[t] = {}, !.fen[t] = 0, !.closed = IF KeepClosed THEN @ \cup {t} ELSE @]

CloseAt(t, p) == \E m \in closes :
  /\ m.t = t /\ tlp[p] # 0 /\ (CheckTimeline => m.tl = tlp[p])
  /\ part' = [part EXCEPT ![p] = Closed(part[p], t)]
  /\ t \notin part[p].closed /\ part'[p] # part[p]
  /\ top' = IF KeepClosed THEN top ELSE [top EXCEPT ![p][t] = 0]
  /\ UNCHANGED <<book, lease, born, acks, tlp, ctl, prog, stored, closes, ck, man, used, broken, done>>

ChiefCrash ==
  /\ used.chief < ChiefCrashes /\ ~done
  /\ used' = [used EXCEPT !.chief = @ + 1]
  /\ prog' = stored /\ ck' = NoCk /\ book' = [book EXCEPT !.known = book.kept]
  /\ UNCHANGED <<lease, born, acks, part, tlp, ctl, stored, closes, man, top, broken, done>>

Finish ==                      \* what is left is to save the model
  /\ ~done /\ \A t \in Tasks : prog[t] = Batches[t] /\ stored[t] = Batches[t]
  /\ \A p \in Parts : /\ tlp[p] = ctl /\ part[p].queue = {}
                      /\ KeepClosed => \A t \in Tasks : t \in part[p].closed \/ t \in book.shut
  /\ done' = TRUE
  /\ UNCHANGED <<book, lease, born, acks, part, tlp, ctl, prog, stored, closes, ck, man, used, top, broken>>

(* ---- checkpoints ---- *)
\* Done, and not closed everywhere. The chief may take more for open: a shard's answer comes late.
OpenNow == {t \in Tasks : prog[t] = Batches[t] /\ \E p \in Parts : t \notin part[p].closed}

Record ==
  /\ ~ck.on /\ used.ck < Checkpoints
  /\ used' = [used EXCEPT !.ck = @ + 1]
  /\ ck' = [on |-> TRUE, prog |-> prog, open |-> OpenNow, parts |-> [p \in {} |-> Fresh]]
  /\ UNCHANGED <<book, lease, born, acks, part, tlp, ctl, prog, stored, closes, man, top, broken, done>>

Clone(p) ==
  LET live == IF FlushAtClone THEN Flushed(part[p]) ELSE part[p]
      alone == IF AloneSaved THEN live ELSE [live EXCEPT !.alone = FALSE, !.heard = {}]
      copy == IF LedgerSaved THEN alone
              ELSE [alone EXCEPT !.pre = Fresh.pre, !.abv = Fresh.abv] IN
  /\ ck.on /\ p \notin DOMAIN ck.parts /\ tlp[p] = ctl
  /\ part' = [part EXCEPT ![p] = live]
  /\ ck' = [ck EXCEPT !.parts = [i \in DOMAIN ck.parts \cup {p} |-> IF i = p THEN [copy EXCEPT !.queue = {}] ELSE ck.parts[i]]]
  /\ UNCHANGED <<book, lease, born, acks, tlp, ctl, prog, stored, closes, man, used, top, broken, done>>

Manifest ==
  /\ ck.on /\ DOMAIN ck.parts = Parts
  /\ man' = [prog |-> IF RecordFirst THEN ck.prog ELSE prog, open |-> IF RecordFirst THEN ck.open ELSE OpenNow,
             parts |-> ck.parts]
  /\ ck' = NoCk
  /\ UNCHANGED <<book, lease, born, acks, part, tlp, ctl, prog, stored, closes, used, top, broken, done>>

GiveUp ==                      \* somebody could not save; what is saved already is for nothing
  /\ ck.on /\ ck' = NoCk
  /\ UNCHANGED <<book, lease, born, acks, part, tlp, ctl, prog, stored, closes, man, used, top, broken, done>>

(* ---- recovery ---- *)
NewTimeline ==                 \* everything died, or a shard did and recovery is `rollback`; leases are void
  /\ ctl < Timelines /\ ~done
  /\ ctl' = ctl + 1
  /\ prog' = IF ProgFromManifest THEN man.prog ELSE stored
  /\ stored' = prog'
  /\ ck' = NoCk
  /\ book' = [book EXCEPT !.shut = {t \in Tasks : man.prog[t] = Batches[t] /\ ~(CloseAgain /\ t \in man.open)}]
  /\ UNCHANGED <<lease, born, acks, part, tlp, closes, man, used, top, broken, done>>

Restore(p) ==
  /\ tlp[p] < ctl
  /\ tlp' = [tlp EXCEPT ![p] = ctl]
  /\ part' = [part EXCEPT ![p] = man.parts[p]]
  /\ top' = [top EXCEPT ![p] = Zero[p]]
  /\ UNCHANGED <<book, lease, born, acks, ctl, prog, stored, closes, ck, man, used, broken, done>>

Partial(p) ==                  \* the shard of p dies and recovers partially; same timeline
  LET unknown == {t \in Tasks : book.known[t] = 0}
      saved == {t \in Tasks : man.parts[p].fen[t] > 0}      \* of which the manifest's ledger knows
      x == [man.parts[p] EXCEPT !.alone = TRUE, !.heard = (Tasks \ unknown) \cup saved]
      fence(t) == IF t \in x.closed THEN 0 ELSE IF t \notin unknown THEN book.known[t]
                  ELSE IF KnownOnly /\ t \notin saved THEN lease[t] + 1 ELSE x.fen[t]
      y == [x EXCEPT !.fen = [t \in Tasks |-> fence(t)]]
      told(z, t) == IF t \notin Tasks \ x.closed THEN z
                    ELSE IF prog[t] = Batches[t] THEN Closed(z, t) ELSE WithPrefix(z, t, prog[t]) IN
  /\ used.partial < Partials /\ tlp[p] = ctl /\ ~done
  /\ used' = [used EXCEPT !.partial = @ + 1]
  /\ part' = [part EXCEPT ![p] = IF Told THEN told(told(y, 1), 2) ELSE x]
  /\ top' = [top EXCEPT ![p] = [t \in Tasks |-> IF @[t] > book.known[t] THEN book.known[t] ELSE @[t]]]
  /\ book' = [book EXCEPT !.bar = [t \in Tasks |-> IF KnownOnly /\ t \in unknown THEN lease[t] ELSE @[t]]]
  /\ UNCHANGED <<lease, born, acks, tlp, ctl, prog, stored, closes, ck, man, broken, done>>

(* ---- specification ---- *)
Steps(t, a) ==
  \/ \E n \in 1..Batches[t] : Report(t, a, n)
  \/ \E p \in Parts, q \in Seqs(t), low \in 0..Batches[t] : Push(t, a, q, p, low)
ChiefSteps ==
  \/ Finish \/ Manifest
  \/ \E v \in [Tasks -> 0..Max(Len1, Len2)] :
       Store(v, book.kept) \/ (Unstored /\ \E w \in [Tasks -> 0..Leases] : Store(v, w))
  \/ \E t \in Tasks : SendClose(t) \/ \E p \in Parts : CloseAt(t, p)
  \/ \E p \in Parts : Flush(p) \/ Clone(p) \/ Restore(p)
\* A live runner sends what is not acknowledged to it, with its present low watermark; it no longer has the rest.
Needed(t, a) ==
  \/ Report(t, a, AckPrefix(t, a))
  \/ \E p \in Parts, q \in Seqs(t) :
       [t |-> t, q |-> q, a |-> a, p |-> p] \notin acks /\ Push(t, a, q, p, AckPrefix(t, a))
NeedLease(t) == Lease(t) /\ (born[t][lease[t]].tl < ctl \/ lease[t] <= book.bar[t])
\* What must go on when faults end: the present runners of this timeline, the chief, the partitions.
Progress == ChiefSteps \/ \E t \in Tasks : NeedLease(t) \/ (born[t][lease[t]].tl = ctl /\ Needed(t, lease[t]))
Next ==
  \/ ChiefSteps \/ Record \/ GiveUp \/ ChiefCrash \/ NewTimeline
  \/ \E t \in Tasks : Lease(t) \/ \E a \in Actors : Steps(t, a)
  \/ \E p \in Parts : Partial(p)
Spec == Init /\ [][Next]_vars /\ WF_vars(Progress)

(* ---- invariants ---- *)
Here(p) == {r \in Recs : Touches(r[1], r[2], p)}
\* No gradient is in the parameters twice.
NoDuplicate == \A p \in Parts : \A r \in Recs : part[p].appl[r] + (IF r \in part[p].queue THEN 1 ELSE 0) <= 1
\* No update of an older timeline, or of a generation lower than one already accepted, is applied.
FencesHold == ~broken
\* A record is applied, queued, dropped or lost: one of them.
OneOutcome == \A p \in Parts : \A r \in Recs :
  Cardinality({f \in {"applied", "queued", "dropped", "lost"} :
    CASE f = "applied" -> part[p].appl[r] > 0
      [] f = "queued"  -> r \in part[p].queue
      [] f = "dropped" -> r \in part[p].drop
      [] f = "lost"    -> r \in part[p].lost}) <= 1
\* What was acknowledged in this timeline has an outcome, unless the partition has recovered partially since.
AckedIsKept == \A m \in acks : LET x == part[m.p]
                                r == <<m.t, m.q>> IN
  (born[m.t][m.a].tl = tlp[m.p] /\ ~x.alone) => (x.appl[r] > 0 \/ r \in x.queue \cup x.drop)
\* Nothing is reported lost where nothing recovered partially.
LossOnlyByPartial == Partials = 0 => \A p \in Parts : part[p].lost = {}
\* At the end every record has its outcome on every partition that it touches: applied once, dropped, or reported lost.
EndExact == done => \A p \in Parts : \A r \in Here(p) :
  part[p].appl[r] = 1 \/ r \in part[p].drop \cup part[p].lost
\* A manifest holds, on every partition, all that its progress claims.
ManifestHolds == Partials = 0 => \A p \in Parts : \A r \in Here(p) :
  r[2] < man.prog[r[1]] => (man.parts[p].appl[r] > 0 \/ r \in man.parts[p].drop)
\* At the end no ledger keeps an entry of a task.
LedgersEmpty == done => \A p \in Parts : part[p].closed = Tasks
\* The ledger's window is never exceeded.
WindowHolds == \A p \in Parts : \A t \in Tasks : \A q \in part[p].abv[t] : q < part[p].pre[t] + W
NeverStuck == done \/ ENABLED <<Progress>>_vars
JobEnds == <>done
=============================================================================
