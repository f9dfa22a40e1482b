------------------------------ MODULE MovesRows ------------------------------
(* Rows that leave a partition while it moves: they expire, or a byte budget pushes them out. The copy, the deltas and  *)
(* the rest name the keys that have lost their rows, as a delta checkpoint does. A partition that has moved, however    *)
(* often, goes on as one that has stayed: `ref` is that one. Views, chiefs and shards that are late or die are in Moves; *)
(* here is one chief, files come in their order, and each shard hears of views when it does.                            *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Keys,            \* 1..Keys
  P,               \* pushes, each to one key, numbered as they are applied
  T,               \* how far the job's progress can come
  Budget,          \* rows that there is room for
  Expiry,          \* a row that was not touched for longer has expired
  Few,             \* erased keys that are remembered; of more, none is
  Moves,           \* moves that the chief may order
  Deltas,          \* deltas that a source may send after one copy
  Fails,           \* files that may come to nothing
  Saves,           \* checkpoints of the partition
  \* The rules. TRUE is the protocol; FALSE breaks it on purpose.
  NamesErased,     \* a delta, and the rest, name the keys that have lost their rows
  ErasedTracked,   \* a key that loses its row after a file was read is named by the next one
  NotAgain,        \* a key that has a row again is not named, and erasing comes before rows
  WholeIfMany,     \* where the erased keys are not all known, the next file is whole
  GivesBack,       \* what a file would have named that came to nothing, the next one names
  ProgressSent,    \* each file brings the progress by which rows expire
  WorthSent,       \* a row comes with its frequency and when it was touched
  NamesParent      \* a file holds changes only to the file whose name it bears as its parent

Shards == {1, 2}
KeySet == 1..Keys
NoRow == [f |-> 0, t |-> 0, v |-> 0]      \* frequency (0 = no row), last touched, the last push that it reflects
NoRows == [k \in KeySet |-> NoRow]
\* What a table tracks: rows that have changed since the last safe file (fresh), and before the file that is on its way (marked);
\* the same of erased keys, if they are all known; the name of the last safe file.
Table(rows, prog) == [rows |-> rows, prog |-> prog, fresh |-> {}, marked |-> {}, er |-> {}, erm |-> {}, known |-> FALSE,
                      knownm |-> FALSE, base |-> <<>>]
NoCopy == [here |-> 0, froz |-> 0, mov |-> 0, n |-> 0, open |-> "none", tab |-> Table(NoRows, 0)]
NoStage == [mov |-> 0, n |-> 0, rest |-> FALSE, rows |-> NoRows, prog |-> 0]
NoDisk == [id |-> 0, rows |-> NoRows, prog |-> 0, was |-> [k \in KeySet |-> 0]]
View1 == [e |-> 1, own |-> 1, copy |-> 1, mov |-> 0]

VARIABLES
  views,     \* all that were stored and published; the newest counts
  seen,      \* shard -> its view
  data,      \* shard -> the copy it owns: name, frozen by which move; the move it sends, files sent, whether one is on its way
  stg,       \* shard -> the copy it is being sent
  files,     \* of moves
  disk,      \* the partition as the last checkpoint has it, with those before that it holds changes to
  ref,       \* the partition as if it had stayed
  p,         \* pushes so far
  fails, saves
vars == <<views, seen, data, stg, files, disk, ref, p, fails, saves>>

Init ==
  /\ views = {View1}
  /\ seen = [s \in Shards |-> View1]
  /\ data = [s \in Shards |-> IF s = 1 THEN [NoCopy EXCEPT !.here = 1] ELSE NoCopy]
  /\ stg = [s \in Shards |-> NoStage]
  /\ files = {} /\ disk = NoDisk /\ ref = Table(NoRows, 0) /\ p = 0 /\ fails = 0 /\ saves = 0

(* ---- a table ---- *)
Has(tab, k) == tab.rows[k].f > 0
Expired(tab, k) == Has(tab, k) /\ tab.prog > tab.rows[k].t + Expiry
Alive(tab) == {k \in KeySet : Has(tab, k) /\ ~Expired(tab, k)}
\* What a pull reads. An expired row reads as missing, whether it is swept or not.
Reads(tab) == [k \in KeySet |-> IF k \in Alive(tab) THEN tab.rows[k].v ELSE 0]

\* Of a set of one. TLC computes what is bound so once, and a definition again wherever it is used.
One(of) == CHOOSE x \in of : TRUE

NotedErased(tab, ks) == IF ~tab.known THEN tab
  ELSE IF Cardinality(tab.er \cup ks) > Few THEN [tab EXCEPT !.er = {}, !.known = ~WholeIfMany]
  ELSE [tab EXCEPT !.er = @ \cup ks]
Erase(tab, ks) == One({
  [NotedErased(tab, gone) EXCEPT !.rows = [k \in KeySet |-> IF k \in gone THEN NoRow ELSE @[k]],
                                 !.fresh = @ \ gone, !.marked = @ \ gone] : gone \in {{k \in ks : Has(tab, k)}}})

AllExpired(tab) == {k \in KeySet : Expired(tab, k)}
\* The least frequently pushed, then the longest untouched, then the lowest key.
Before(tab, a, b) == LET x == tab.rows[a] y == tab.rows[b] IN
  x.f < y.f \/ (x.f = y.f /\ (x.t < y.t \/ (x.t = y.t /\ a < b)))
Least(tab) == CHOOSE k \in Alive(tab) : \A o \in Alive(tab) \ {k} : Before(tab, k, o)

Swept(tab) == Erase(tab, IF Cardinality({o \in KeySet : Has(tab, o)}) + 1 > Budget THEN AllExpired(tab) ELSE {})
Evicted(tab) == IF Cardinality(Alive(tab)) + 1 > Budget THEN Erase(tab, {Least(tab)}) ELSE tab
Create(tab, k) == One({[free EXCEPT !.er = IF NotAgain THEN @ \ {k} ELSE @] : free \in {Evicted(swept) : swept \in {Swept(tab)}}})

Advanced(tab, prog) == [tab EXCEPT !.prog = IF prog > @ THEN prog ELSE @]
Lapsed(tab, k) == IF Expired(tab, k) THEN Erase(tab, {k}) ELSE tab
Made(tab, k) == IF Has(tab, k) THEN tab ELSE Create(tab, k)
Apply(tab, k, prog, v) == One({
  [there EXCEPT !.rows[k] = [f |-> @.f + 1, t |-> there.prog, v |-> v], !.fresh = @ \cup {k}] :
    there \in {Made(lapsed, k) : lapsed \in {Lapsed(now, k) : now \in {Advanced(tab, prog)}}}})

\* A file is read as of its mark. What changes afterwards goes with the next one.
ChangesKnown(tab, parent) == parent # <<>> /\ (NamesParent => tab.base = parent) /\ tab.known
Mark(tab) == [tab EXCEPT !.marked = @ \cup tab.fresh, !.fresh = {}, !.erm = tab.er, !.knownm = tab.known,
                         !.er = {}, !.known = TRUE]
FileOf(tab, parent) == One({
  [whole |-> whole, prog |-> m.prog, erased |-> IF whole \/ ~NamesErased THEN {} ELSE m.erm,
   held |-> IF whole THEN {k \in KeySet : Has(m, k)} ELSE {k \in m.marked : Has(m, k)}, rows |-> m.rows] :
     m \in {Mark(tab)}, whole \in {~ChangesKnown(tab, parent)}})
\* safe: the target has the file.
Settle(tab, safe, name) ==
  IF safe THEN [tab EXCEPT !.marked = {}, !.erm = {}, !.base = name, !.er = IF ErasedTracked THEN @ ELSE {}]
  ELSE One({IF ~GivesBack THEN back
            ELSE IF ~tab.knownm THEN [back EXCEPT !.known = FALSE, !.er = {}]
            ELSE NotedErased(back, {k \in tab.erm : ~Has(tab, k)}) :
              back \in {[tab EXCEPT !.fresh = @ \cup tab.marked, !.marked = {}, !.erm = {}]}})

\* A file over what the files before have brought.
Took(f, k) == IF WorthSent THEN f.rows[k] ELSE [f.rows[k] EXCEPT !.f = 1, !.t = f.prog]
RowsOver(rows, f) == [k \in KeySet |->
  LET left == IF f.whole THEN NoRow ELSE rows[k] IN
  IF ~NotAgain /\ k \in f.erased THEN NoRow
  ELSE IF k \in f.held THEN Took(f, k)
  ELSE IF k \in f.erased THEN NoRow ELSE left]
ProgOver(prog, f) == IF ProgressSent \/ f.whole THEN f.prog ELSE prog

(* ---- the chief ---- *)
Now == CHOOSE v \in views : \A w \in views : w.e <= v.e
Decide(v) == views' = views \cup {v} /\ UNCHANGED <<seen, data, stg, files, disk, ref, p, fails, saves>>
OrderMove == Now.mov = 0 /\ Cardinality({v \in views : v.mov # 0}) < Moves /\ Decide([Now EXCEPT !.e = @ + 1, !.mov = Now.e + 1])
Switch == LET to == 3 - Now.own IN
  /\ Now.mov # 0 /\ stg[to].mov = Now.mov /\ stg[to].rest
  /\ Decide([e |-> Now.e + 1, own |-> to, copy |-> Now.mov, mov |-> 0])
Cancel == Now.mov # 0 /\ Decide([Now EXCEPT !.e = @ + 1, !.mov = 0])

(* ---- shards and views ---- *)
Learn(s) == LET v == Now  d == data[s]
                over == IF d.open = "none" THEN d.tab ELSE Settle(d.tab, FALSE, <<>>) IN
  /\ v.e > seen[s].e
  /\ seen' = [seen EXCEPT ![s] = v]
  /\ data' = [data EXCEPT ![s] =
       IF v.own # s THEN NoCopy
       ELSE IF d.here # v.copy THEN [NoCopy EXCEPT !.here = v.copy, !.mov = v.mov, !.tab = Table(stg[s].rows, stg[s].prog)]
       ELSE IF d.mov = v.mov THEN d
       ELSE [d EXCEPT !.froz = 0, !.mov = v.mov, !.n = 0, !.open = "none", !.tab = over]]
  /\ stg' = [stg EXCEPT ![s] = IF v.mov # 0 /\ v.own # s THEN [NoStage EXCEPT !.mov = v.mov] ELSE NoStage]
  /\ UNCHANGED <<views, files, disk, ref, p, fails, saves>>

(* ---- pushes ---- *)
Owns(s) == data[s].here # 0 /\ data[s].froz = 0 /\ seen[s].own = s
Push(s) == \E k \in KeySet, prog \in {ref.prog, ref.prog + 1} :
  /\ Owns(s) /\ p < P /\ prog <= T
  /\ p' = p + 1
  /\ \E tab \in {Apply(data[s].tab, k, prog, p + 1)}, stays \in {Apply(ref, k, prog, p + 1)} :
       /\ data' = [data EXCEPT ![s].tab = tab]
       /\ ref' = [Table(NoRows, 0) EXCEPT !.rows = stays.rows, !.prog = stays.prog]
  /\ UNCHANGED <<views, seen, stg, files, disk, fails, saves>>

\* Expired rows are swept when there is time.
Sweep(s) == \E k \in KeySet :
  /\ Owns(s) /\ Expired(data[s].tab, k)
  /\ data' = [data EXCEPT ![s].tab = Erase(@, {k})]
  /\ UNCHANGED <<views, seen, stg, files, disk, ref, p, fails, saves>>

(* ---- a move ---- *)
\* The copy is file 0. One file is on its way at a time.
Send(s, rest) == LET d == data[s]  parent == IF d.n = 0 THEN <<>> ELSE <<"move", d.mov, d.n - 1>> IN
  /\ d.mov # 0 /\ seen[s].mov = d.mov /\ d.open = "none" /\ d.froz = 0
  /\ IF rest THEN d.n > 0 ELSE d.n <= Deltas
  /\ \E f \in {FileOf(d.tab, parent)} : files' = files \cup {[mov |-> d.mov, n |-> d.n, rest |-> rest, f |-> f]}
  /\ data' = [data EXCEPT ![s].tab = Mark(@), ![s].open = IF rest THEN "rest" ELSE "file", ![s].froz = IF rest THEN d.mov ELSE 0]
  /\ UNCHANGED <<views, seen, stg, disk, ref, p, fails, saves>>

\* The target has the file: for that the copy needs to have come, and the others to be applied. Of the rest nothing becomes a parent.
Sent(s) == LET d == data[s] IN
  /\ d.open # "none"
  /\ d.n = 0 \/ d.open = "rest" \/ (stg[3 - s].mov = d.mov /\ stg[3 - s].n > d.n)
  /\ data' = [data EXCEPT ![s].open = "none", ![s].n = @ + 1,
                          ![s].tab = Settle(@, d.open = "file", <<"move", d.mov, d.n>>)]
  /\ UNCHANGED <<views, seen, stg, files, disk, ref, p, fails, saves>>

\* No more of this move comes: the chief hears of it, and cancels.
Fail(s) == LET d == data[s] IN
  /\ d.open = "file" /\ fails < Fails
  /\ fails' = fails + 1
  /\ data' = [data EXCEPT ![s].open = "none", ![s].mov = 0, ![s].n = 0, ![s].tab = Settle(@, FALSE, <<>>)]
  /\ UNCHANGED <<views, seen, stg, files, disk, ref, p, saves>>

TakeFile(s) == \E f \in files : LET g == stg[s] IN
  /\ g.mov # 0 /\ f.mov = g.mov /\ f.n = g.n /\ ~g.rest
  /\ stg' = [stg EXCEPT ![s] = [mov |-> g.mov, n |-> g.n + 1, rest |-> f.rest, rows |-> RowsOver(g.rows, f.f),
                                prog |-> ProgOver(g.prog, f.f)]]
  /\ UNCHANGED <<views, seen, data, files, disk, ref, p, fails, saves>>

(* ---- checkpoints ---- *)
\* Not while a move is under way. `safe`: the manifest is written; otherwise it comes to nothing.
Save(s) == \E safe \in BOOLEAN, f \in {FileOf(data[s].tab, IF disk.id = 0 THEN <<>> ELSE <<"save", disk.id>>)} :
  LET d == data[s] IN
  /\ Owns(s) /\ d.mov = 0 /\ Now.mov = 0 /\ saves < Saves
  /\ saves' = saves + 1
  /\ data' = [data EXCEPT ![s].tab = Settle(Mark(@), safe, <<"save", saves + 1>>)]
  /\ disk' = IF safe THEN [id |-> saves + 1, rows |-> RowsOver(disk.rows, f), prog |-> ProgOver(disk.prog, f), was |-> Reads(ref)]
             ELSE disk
  /\ UNCHANGED <<views, seen, stg, files, ref, p, fails>>

(* ---- specification ---- *)
ShardStep(s) ==
  \/ Learn(s) \/ Push(s) \/ Sweep(s) \/ Sent(s) \/ TakeFile(s) \/ Save(s)
  \/ \E rest \in BOOLEAN : Send(s, rest)
Next == OrderMove \/ Switch \/ Cancel \/ \E s \in Shards : ShardStep(s) \/ Fail(s)
Spec == Init /\ [][Next]_vars

(* ---- invariants ---- *)
\* Whoever takes pushes in has the rows, and no others, that a partition which has stayed has.
SameRows == \A s \in Shards : Owns(s) => Reads(data[s].tab) = Reads(ref) /\ data[s].tab.prog = ref.prog
\* So has whoever is sent it, when all has come.
SentWhole == \A s \in Shards : (stg[s].rest /\ stg[s].mov = data[3 - s].froz) =>
  Reads(Table(stg[s].rows, stg[s].prog)) = Reads(data[3 - s].tab)
\* And so has a checkpoint, as of when it was taken.
SavedRows == Reads(Table(disk.rows, disk.prog)) = disk.was
=============================================================================
