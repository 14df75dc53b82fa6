/* The rule by which members of a group forget clocks, for spin.
 *
 * One row with one column; up to N logs of at most B batches; at most SNAPS snapshots. Each member
 * has the row as it is in its file, with clocks that it forgets (life, reg: 0 is forgotten), and the
 * same row with all its clocks (glife, greg), which no real member has. After each step what both
 * show must be the same: then nothing that is forgotten has changed a result, so deleted rows stay
 * deleted, no edit is lost, and members that have applied the same batches agree.
 *
 * There is no time in it: a stamp and a promise may be any number that the rules allow, as if each
 * clock showed whatever it likes, and any member may be taken for silent at any moment.
 *
 * Without a definition the rule is that of Sources/SecureSync/Snapshot. Each definition below is a
 * mistake, which Scripts/check-models finds:
 *   UNDECLARED        a member forgets at a floor of its own computation, without a snapshot
 *   FUTURE            clocks above the floor's time are forgotten, too
 *   STAMPED_LOW       a stamp need not be above the writer's promise
 *   NO_PROMISE        the floor's time is the greatest stamp in the batches that all have
 *   LATE_MERGED       batches of a closed log are merged when they come
 *   RETURN_MERGED     a member that returns sends its old edits as they are
 *   ENTRY_UNDECLARED  a new log is written before a snapshot names it
 * Two are too rare for the seconds that it has; FloorTests finds them in the code itself:
 *   CLOSED_AT_ONCE    a silent member is left out of the floor before all others know it
 *   ABOVE_FLOOR       a member forgets when it has the floor's batches, but not the snapshot's
 */

#ifndef N
#define N 3        /* logs */
#endif
#ifndef FIRST
#define FIRST 2    /* members at the beginning; the other logs are for those that return */
#endif
#ifndef B
#define B 2        /* batches in a log */
#endif
#ifndef SNAPS
#define SNAPS 3
#endif
#ifndef K
#define K 4        /* greatest time of a stamp */
#endif

#define NONE 0
#define UPDATE 1
#define INSERT 2
#define DELETE 3

#define STAMP(time, who) ((time) * 4 + (who))
#define TIME(stamp) ((stamp) / 4)
#define FORGOTTEN(stamp, limit) (TIME(stamp) <= (limit) -> 0 : (stamp))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define HAS(set, who) (((set) >> (who)) & 1)

typedef Heads { byte log[N] };

typedef Batch {
    Heads heads;      /* what its writer had applied, its own log included */
    byte knows;       /* the last snapshot that its writer had adopted */
    byte promise;     /* all later stamps of this log are above it */
    byte kind;
    byte stamp;
    byte life;        /* the row's life, as far as the writer still knew it */
    byte glife
};

typedef Row {
    bit alive; byte life; byte reg; byte value;
    bit galive; byte glife; byte greg
};

typedef Log { byte count; Batch batch[B + 1] };

typedef Snapshot {
    Heads heads;
    Heads floor;
    byte time;        /* the floor's: stamps up to it are forgotten */
    byte members;     /* whose heads count: bits */
    byte closing;     /* those of them that were silent: bits */
    Heads closedIn;   /* the snapshot that first said so */
    Heads entered;    /* the snapshot that a log begins with */
    Row row
};

typedef Member {
    Heads heads;
    byte adopted;     /* snapshot */
    byte promise;
    bit unsent;       /* whether the last batch of its own is not in the store */
    bit gone;         /* whether it goes on in another log */
    byte time;        /* its floor's: that of `adopted` */
    Row row
};

Log logs[N];
Snapshot snaps[SNAPS + 1];
byte last;            /* number of the last snapshot */
Member members[N];

byte i, k, m, n, s, t, x, y, z;
byte ok, ok2;

inline show_same(who) {
    assert(members[who].row.alive == members[who].row.galive);
    assert(!members[who].row.alive || members[who].row.value == members[who].row.greg)
}

inline forget(row_, limit) {
    row_.life = FORGOTTEN(row_.life, limit);
    row_.reg = FORGOTTEN(row_.reg, limit)
}

/* Whether member i has all that the heads name. */
inline covers(mine, theirs, answer) {
    answer = 1;
    for (z : 0 .. N - 1) {
        if :: mine.log[z] < theirs.log[z] -> answer = 0 :: else fi
    }
}

inline copy_row(to, from) {
    to.alive = from.alive; to.life = from.life; to.reg = from.reg; to.value = from.value;
    to.galive = from.galive; to.glife = from.glife; to.greg = from.greg
}

/* Merges one change into member `who`'s row, and into the row with all clocks. */
inline merge(who, kind_, stamp_, life_, glife_) {
    x = FORGOTTEN(life_, members[who].time);
    if
    :: kind_ == UPDATE ->
        if
        :: members[who].row.alive && members[who].row.life == x && stamp_ > members[who].row.reg ->
            members[who].row.reg = stamp_; members[who].row.value = stamp_
        :: else
        fi;
        if
        :: (members[who].row.galive && members[who].row.glife == glife_
            && stamp_ > members[who].row.greg) ->
            members[who].row.greg = stamp_
        :: else
        fi
    :: kind_ == INSERT || kind_ == DELETE ->
        if
        :: stamp_ > members[who].row.life ->
            members[who].row.life = stamp_;
            members[who].row.alive = (kind_ == INSERT);
            members[who].row.reg = (kind_ == INSERT -> stamp_ : 0);
            members[who].row.value = (kind_ == INSERT -> stamp_ : 0)
        :: else
        fi;
        if
        :: stamp_ > members[who].row.glife ->
            members[who].row.glife = stamp_;
            members[who].row.galive = (kind_ == INSERT);
            members[who].row.greg = (kind_ == INSERT -> stamp_ : 0)
        :: else
        fi
    :: else
    fi
}

/* Member i edits its row or does not, and seals a batch, which it sends later. */
inline seal() {
    n = members[i].heads.log[i] + 1;
    if :: k = NONE
       :: members[i].row.alive -> k = UPDATE
       :: members[i].row.alive -> k = DELETE
       :: !members[i].row.alive -> k = INSERT
    fi;
    /* Above the promise, and above what is overwritten. */
    t = 0;
    if
    :: k != NONE ->
#ifndef STAMPED_LOW
        t = members[i].promise;
#endif
        t = MAX(t, TIME(members[i].row.life));
        t = MAX(t, TIME(members[i].row.reg));
        t++;
        do :: t < K -> t++ :: break od
    :: else
    fi;
    if
    :: t <= K ->
        logs[i].batch[n].kind = k;
        if
        :: k != NONE ->
            s = STAMP(t, i);
            logs[i].batch[n].stamp = s;
            logs[i].batch[n].life = members[i].row.life;
            logs[i].batch[n].glife = members[i].row.glife;
            /* What is written in knowledge of something wins over it. */
            assert(s > members[i].row.glife && s > members[i].row.greg);
            merge(i, k, s, members[i].row.life, members[i].row.glife);
            show_same(i)
        :: else
        fi;
        t = members[i].promise;
        do :: t < K -> t++ :: break od;
        members[i].promise = t;
        logs[i].batch[n].promise = t;
        members[i].heads.log[i] = n;
        for (m : 0 .. N - 1) { logs[i].batch[n].heads.log[m] = members[i].heads.log[m] }
        logs[i].batch[n].knows = members[i].adopted;
        members[i].unsent = 1
    :: else
    fi
}

/* Whether i takes batch n of log k, as far as closed logs are concerned. */
inline takes(answer) {
    answer = 1;
#ifndef LATE_MERGED
    s = members[i].adopted;
    if
    :: HAS(snaps[s].members, k) && !HAS(snaps[s].closing, k) -> skip
    :: !HAS(snaps[s].members, k) && snaps[s].closedIn.log[k] == 0 ->
        /* Not known: a later snapshot names it. */
        answer = 0
    :: else ->
        if
        :: n <= snaps[s].heads.log[k] -> skip
        :: else ->
            /* Only what a member whose log is open had applied, while it could. */
            answer = 0;
            if
            :: HAS(snaps[s].members, k) ->
                for (m : 0 .. N - 1) {
                    y = members[i].heads.log[m] + 1;
                    if
                    :: (m != k && m != i && HAS(snaps[s].members, m) && !HAS(snaps[s].closing, m)
                        && y <= logs[m].count && logs[m].batch[y].heads.log[k] >= n) -> answer = 1
                    :: else
                    fi
                }
            :: else
            fi
        fi
    fi
#endif
#ifdef ENTRY_UNDECLARED
    if :: k >= FIRST -> answer = 1 :: else fi
#endif
}

/* Member i applies the next batch of log k, if all that the batch's writer knew is applied. */
inline pull() {
    n = members[i].heads.log[k] + 1;
    takes(ok);
    ok2 = 1;
    for (m : 0 .. N - 1) {
        if
        :: m != k && logs[k].batch[n].heads.log[m] > members[i].heads.log[m] -> ok2 = 0
        :: else
        fi
    }
#ifndef UNDECLARED
    /* A batch may speak of forgotten clocks, so its reader adopts first what its writer had. */
    if :: logs[k].batch[n].knows > members[i].adopted -> ok2 = 0 :: else fi;
#endif
    if
    :: ok && ok2 ->
        members[i].heads.log[k] = n;
        merge(i, logs[k].batch[n].kind, logs[k].batch[n].stamp, logs[k].batch[n].life,
            logs[k].batch[n].glife);
        show_same(i)
    :: else
    fi
}

inline adopt() {
    s = members[i].adopted + 1;
#ifdef ABOVE_FLOOR
    covers(members[i].heads, snaps[s].floor, ok);
#else
    covers(members[i].heads, snaps[s].heads, ok);
#endif
    if
    :: ok ->
        members[i].adopted = s;
        members[i].time = snaps[s].time;
#ifdef FUTURE
        /* All that is in the floor's batches, whatever its stamp. */
        covers(snaps[s].floor, members[i].heads, ok);
        if :: ok -> forget(members[i].row, K) :: else fi;
#endif
        forget(members[i].row, members[i].time);
        show_same(i)
    :: else
    fi
}

/* The heads that member m has made known to member i, and the snapshot that it knew: in its last
 * batch that i has; for i itself, now; for whoever has sent nothing, those of its entry. */
inline published(head, knows_) {
    if
    :: m == i -> head = members[i].heads.log[k]; knows_ = members[i].adopted
    :: else ->
        n = members[i].heads.log[m];
        if
        :: n > 0 -> head = logs[m].batch[n].heads.log[k]; knows_ = logs[m].batch[n].knows
        :: else ->
            n = snaps[last].entered.log[m];
            head = snaps[n].heads.log[k]; knows_ = n
        fi
    fi
}

/* The floor of a new snapshot by i: per log, and the time. */
inline compute_floor(s_) {
    /* Who was silent leaves when all whose logs are open know that. */
    for (x : 0 .. N - 1) {
        if
        :: HAS(snaps[s_].closing, x) ->
            ok = 1;
            k = 0;
#ifndef CLOSED_AT_ONCE
            for (m : 0 .. N - 1) {
                if
                :: HAS(snaps[s_].members, m) && !HAS(snaps[s_].closing, m) ->
                    published(y, t);
                    if :: t < snaps[s_].closedIn.log[x] -> ok = 0 :: else fi
                :: else
                fi
            }
#endif
            if :: ok -> snaps[s_].members = snaps[s_].members & ~(1 << x);
                   snaps[s_].closing = snaps[s_].closing & ~(1 << x)
               :: else
            fi
        :: else
        fi
    }
    for (k : 0 .. N - 1) {
        x = members[i].heads.log[k];
        for (m : 0 .. N - 1) {
            if
            :: HAS(snaps[s_].members, m) -> published(y, t); x = MIN(x, y)
            :: else
            fi
        }
        snaps[s_].floor.log[k] = MAX(snaps[s_ - 1].floor.log[k], x)
    }
    x = K;
    for (k : 0 .. N - 1) {
        n = snaps[s_].floor.log[k];
        if
        :: HAS(snaps[s_].members, k) || n < snaps[s_].heads.log[k] ->
            /* A log from which nothing is known to all has promised what was forgotten at its entry. */
            y = snaps[s_ - 1].time;
            if :: n > 0 -> y = logs[k].batch[n].promise :: else fi;
            x = MIN(x, y)
        :: else
        fi
    }
#ifdef NO_PROMISE
    x = 0;
    for (k : 0 .. N - 1) {
        for (m : 1 .. B) {
            if
            :: m <= snaps[s_].floor.log[k] -> x = MAX(x, TIME(logs[k].batch[m].stamp))
            :: else
            fi
        }
    }
#endif
    snaps[s_].time = MAX(snaps[s_ - 1].time, x)
}

/* Begins snapshot s with what the last one says. */
inline begin_snapshot(s_) {
    snaps[s_].members = snaps[s_ - 1].members;
    snaps[s_].closing = snaps[s_ - 1].closing;
    for (m : 0 .. N - 1) {
        snaps[s_].closedIn.log[m] = snaps[s_ - 1].closedIn.log[m];
        snaps[s_].entered.log[m] = snaps[s_ - 1].entered.log[m];
        snaps[s_].heads.log[m] = members[i].heads.log[m]
    }
}

/* Member i, which has adopted the last snapshot and sent all it has, writes the next. */
inline snapshot() {
    s = last + 1;
    begin_snapshot(s);
    compute_floor(s);
    /* Some member may seem silent. */
    if
    :: skip
    :: k = 0;
        do :: k < N - 1 -> k++ :: break od;
        if
        :: k != i && HAS(snaps[s].members, k) && !HAS(snaps[s].closing, k) ->
            snaps[s].closing = snaps[s].closing | (1 << k);
            snaps[s].closedIn.log[k] = s;
#ifdef CLOSED_AT_ONCE
            compute_floor(s)
#endif
        :: else
        fi
    fi;
    last = s;
    members[i].adopted = s;
    members[i].time = snaps[s].time;
    forget(members[i].row, members[i].time);
    copy_row(snaps[s].row, members[i].row);
    show_same(i)
}

/* Joins the row of snapshot s into that of member `who`: what the floor covers is the snapshot's. */
inline load(who, s_) {
    members[who].time = snaps[s_].time;
    forget(members[who].row, members[who].time);
    if
    :: snaps[s_].row.life > members[who].row.life ->
        members[who].row.alive = snaps[s_].row.alive; members[who].row.life = snaps[s_].row.life;
        members[who].row.reg = snaps[s_].row.reg; members[who].row.value = snaps[s_].row.value
    :: snaps[s_].row.life == members[who].row.life ->
        if
        :: !snaps[s_].row.alive || !members[who].row.alive || snaps[s_].row.reg >= members[who].row.reg ->
            members[who].row.alive = snaps[s_].row.alive;
            members[who].row.reg = snaps[s_].row.reg; members[who].row.value = snaps[s_].row.value
        :: else
        fi
    :: else
    fi;
    if
    :: snaps[s_].row.glife > members[who].row.glife ->
        members[who].row.galive = snaps[s_].row.galive; members[who].row.glife = snaps[s_].row.glife;
        members[who].row.greg = snaps[s_].row.greg
    :: snaps[s_].row.glife == members[who].row.glife && members[who].row.galive ->
        members[who].row.greg = MAX(members[who].row.greg, snaps[s_].row.greg)
    :: else
    fi;
    members[who].adopted = s_;
    for (m : 0 .. N - 1) {
        members[who].heads.log[m] = MAX(members[who].heads.log[m], snaps[s_].heads.log[m])
    }
}

/* Member i, whose log is closed, goes on as k: from the last snapshot, with its edits that nobody
 * has accepted, if they are younger than the floor. The new log enters by a snapshot. */
inline return_as() {
    members[i].gone = 1;
    s = last;
#ifdef RETURN_MERGED
    copy_row(members[k].row, members[i].row);
    load(k, s);
#else
    copy_row(members[k].row, snaps[s].row);
#endif
    members[k].adopted = s;
    members[k].time = snaps[s].time;
    members[k].promise = snaps[s].time;
    for (m : 0 .. N - 1) { members[k].heads.log[m] = snaps[s].heads.log[m] }
#ifndef ENTRY_UNDECLARED
    /* The same content; only the list of members is another. */
    y = i; i = k;
    s = last + 1;
    begin_snapshot(s);
    i = y;
    for (m : 0 .. N - 1) { snaps[s].floor.log[m] = snaps[s - 1].floor.log[m] }
    snaps[s].time = snaps[s - 1].time;
    snaps[s].members = snaps[s].members | (1 << k);
    snaps[s].entered.log[k] = s;
    copy_row(snaps[s].row, snaps[s - 1].row);
    last = s;
    members[k].adopted = s;
#endif
    /* The last edit that nobody accepted, if there is one. */
    n = members[i].heads.log[i];
    if
    :: n > snaps[last].heads.log[i] && logs[i].batch[n].kind != NONE ->
        t = logs[i].batch[n].stamp;
        x = TIME(t);
        ok = (x > members[k].time);
#ifdef RETURN_MERGED
        ok = 1;
#endif
        y = logs[i].batch[n].kind;
        if
        :: ok ->
            t = STAMP(x, k);
            logs[k].batch[1].kind = y;
            logs[k].batch[1].stamp = t;
            /* An update is one of the row that the snapshot has; where there is none, it was deleted,
             * and the edit is a conflict. */
            logs[k].batch[1].life = members[k].row.life;
            logs[k].batch[1].glife = members[k].row.glife;
            merge(k, y, t, members[k].row.life, members[k].row.glife);
            x = members[k].promise;
            do :: x < K -> x++ :: break od;
            members[k].promise = x;
            logs[k].batch[1].promise = members[k].promise;
            members[k].heads.log[k] = 1;
            for (m : 0 .. N - 1) { logs[k].batch[1].heads.log[m] = members[k].heads.log[m] }
            logs[k].batch[1].knows = members[k].adopted;
            members[k].unsent = 1
        :: else
        fi
    :: else
    fi;
    show_same(k)
}

#define OPEN(who) (HAS(snaps[members[who].adopted].members, who) \
    && !HAS(snaps[members[who].adopted].closing, who) && !members[who].gone)
/* A member that does not know yet that its log is closed goes on. */
#define WORKS(who) ((who < FIRST || members[who].adopted > 0) && OPEN(who))

active proctype world() {
    atomic {
        i = 0;
        do
        :: i < FIRST ->
            members[i].row.alive = 1; members[i].row.galive = 1;
            snaps[0].members = snaps[0].members | (1 << i);
            i++
        :: else -> break
        od;
        snaps[0].row.alive = 1; snaps[0].row.galive = 1
    }
    do
    :: atomic {
        i = 0;
        do :: i < N - 1 -> i++ :: break od;
        if
        :: WORKS(i) && !members[i].unsent && members[i].heads.log[i] < B -> seal()
        :: members[i].unsent && !members[i].gone ->
            logs[i].count = members[i].heads.log[i]; members[i].unsent = 0
        :: WORKS(i) ->
            k = 0;
            do :: k < N - 1 -> k++ :: break od;
            if :: k != i && members[i].heads.log[k] < logs[k].count -> pull() :: else fi
        :: WORKS(i) && members[i].adopted < last -> adopt()
        :: WORKS(i) && members[i].adopted == last && last < SNAPS && !members[i].unsent -> snapshot()
#ifdef UNDECLARED
        :: WORKS(i) && members[i].adopted == last && last < SNAPS && !members[i].unsent ->
            begin_snapshot(last + 1); compute_floor(last + 1);
            members[i].time = snaps[last + 1].time;
            forget(members[i].row, members[i].time)
#endif
        :: (WORKS(i) && members[i].adopted < last && HAS(snaps[last].members, i)
            && !HAS(snaps[last].closing, i)) -> load(i, last); show_same(i)
        :: (i < FIRST && !members[i].gone && last < SNAPS && last > 0
            && (!HAS(snaps[last].members, i) || HAS(snaps[last].closing, i))) ->
            k = FIRST;
            do :: k < N && members[k].adopted > 0 -> k++ :: else -> break od;
            if :: k < N -> return_as() :: else fi
        :: else
        fi;
        i = 0; k = 0; m = 0; n = 0; s = 0; t = 0; x = 0; y = 0; z = 0; ok = 0; ok2 = 0
    }
    od
}
