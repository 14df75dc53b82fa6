/* The rule by which members of a group forget clocks, for spin.
 *
 * One row with one column; up to N logs of at most B batches; at most SNAPS snapshots. Each member
 * has the row as it is in its file, with timestamps that it forgets (life is the incarnation's, reg
 * the column's; 0 is forgotten), and the same row with all its timestamps (glife, greg), which no
 * real member has. After each step what both show must be the same: then nothing that is forgotten
 * has changed a result, so deleted rows stay deleted, no edit is lost, and members that have
 * applied the same batches agree.
 *
 * There is no time in it: a timestamp and a lower bound may be any number that the rules allow, as
 * if each clock showed whatever it likes, and any member may be taken for inactive at any moment.
 *
 * Without a definition the rule is that of Sources/SecureSync/Snapshot/Declaration.swift. Each
 * definition below is a mistake, which Scripts/check-models finds:
 *   UNDECLARED        a member forgets at a stable point of its own computation, without a snapshot
 *   FUTURE_FORGOTTEN  clocks above the stable point's time are forgotten, too
 *   TIMESTAMPED_LOW   a timestamp need not be above the writer's lower bound
 *   NO_LOWER_BOUND    the stable point's time is the greatest timestamp in its batches
 *   LATE_MERGED       batches of a closed log are merged when they come
 *   RETURN_MERGED     a member that returns sends its old edits as they are
 *   ENTRY_UNDECLARED  a new log is written before a snapshot names it
 * Two are too rare for the seconds that it has; StablePointTests finds them in the code itself:
 *   CLOSED_AT_ONCE    an inactive member no longer holds back the stable point before all know it
 *   ADOPTED_EARLY     a member forgets when it has the stable point's batches, not the snapshot's
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
#define K 4        /* greatest time of a timestamp */
#endif

#define NONE 0
#define UPDATE 1
#define INSERT 2
#define DELETE 3

#define TIMESTAMP(time, who) ((time) * 4 + (who))
#define TIME(timestamp) ((timestamp) / 4)
#define FORGOTTEN(timestamp, limit) (TIME(timestamp) <= (limit) -> 0 : (timestamp))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define HAS(set, who) (((set) >> (who)) & 1)

typedef Positions { byte log[N] };

typedef Batch {
    Positions positions; /* what its writer had applied, its own log included */
    byte adopted;     /* the last snapshot that its writer had adopted */
    byte lowerBound;  /* all later timestamps of this log are above it */
    byte kind;
    byte timestamp;
    byte life;        /* the row's life, as far as the writer still knew it */
    byte glife
};

typedef Row {
    bit alive; byte life; byte reg; byte value;
    bit galive; byte glife; byte greg
};

typedef Log { byte count; Batch batch[B + 1] };

typedef Snapshot {
    Positions positions;
    Positions stable;
    byte time;        /* the stable point's: timestamps up to it are forgotten */
    byte members;     /* whose positions count: bits */
    byte closing;     /* those of them that were inactive: bits */
    Positions closedIn;   /* the snapshot that first said so */
    Positions entered;    /* the snapshot that a log begins with */
    Row row
};

typedef Member {
    Positions positions;
    byte adopted;     /* snapshot */
    byte lowerBound;
    bit unsent;       /* whether the last batch of its own is not in the store */
    bit gone;         /* whether it goes on in another log */
    byte time;        /* its stable point's: that of `adopted` */
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

/* Whether member i has all that the positions name. */
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
inline merge(who, kind_, timestamp_, life_, glife_) {
    x = FORGOTTEN(life_, members[who].time);
    if
    :: kind_ == UPDATE ->
        if
        :: (members[who].row.alive && members[who].row.life == x
            && timestamp_ > members[who].row.reg) ->
            members[who].row.reg = timestamp_; members[who].row.value = timestamp_
        :: else
        fi;
        if
        :: (members[who].row.galive && members[who].row.glife == glife_
            && timestamp_ > members[who].row.greg) ->
            members[who].row.greg = timestamp_
        :: else
        fi
    :: kind_ == INSERT || kind_ == DELETE ->
        if
        :: timestamp_ > members[who].row.life ->
            members[who].row.life = timestamp_;
            members[who].row.alive = (kind_ == INSERT);
            members[who].row.reg = (kind_ == INSERT -> timestamp_ : 0);
            members[who].row.value = (kind_ == INSERT -> timestamp_ : 0)
        :: else
        fi;
        if
        :: timestamp_ > members[who].row.glife ->
            members[who].row.glife = timestamp_;
            members[who].row.galive = (kind_ == INSERT);
            members[who].row.greg = (kind_ == INSERT -> timestamp_ : 0)
        :: else
        fi
    :: else
    fi
}

/* Member i edits its row or does not, and seals a batch, which it sends later. */
inline seal() {
    n = members[i].positions.log[i] + 1;
    if :: k = NONE
       :: members[i].row.alive -> k = UPDATE
       :: members[i].row.alive -> k = DELETE
       :: !members[i].row.alive -> k = INSERT
    fi;
    /* Above the lower bound, and above what is overwritten. */
    t = 0;
    if
    :: k != NONE ->
#ifndef TIMESTAMPED_LOW
        t = members[i].lowerBound;
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
            s = TIMESTAMP(t, i);
            logs[i].batch[n].timestamp = s;
            logs[i].batch[n].life = members[i].row.life;
            logs[i].batch[n].glife = members[i].row.glife;
            /* What is written in knowledge of something wins over it. */
            assert(s > members[i].row.glife && s > members[i].row.greg);
            merge(i, k, s, members[i].row.life, members[i].row.glife);
            show_same(i)
        :: else
        fi;
        t = members[i].lowerBound;
        do :: t < K -> t++ :: break od;
        members[i].lowerBound = t;
        logs[i].batch[n].lowerBound = t;
        members[i].positions.log[i] = n;
        for (m : 0 .. N - 1) { logs[i].batch[n].positions.log[m] = members[i].positions.log[m] }
        logs[i].batch[n].adopted = members[i].adopted;
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
        :: n <= snaps[s].positions.log[k] -> skip
        :: else ->
            /* Only what a member whose log is open had applied, while it could. */
            answer = 0;
            if
            :: HAS(snaps[s].members, k) ->
                for (m : 0 .. N - 1) {
                    y = members[i].positions.log[m] + 1;
                    if
                    :: (m != k && m != i && HAS(snaps[s].members, m) && !HAS(snaps[s].closing, m)
                        && y <= logs[m].count && logs[m].batch[y].positions.log[k] >= n) ->
                        answer = 1
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

/* Member i applies the next batch of log k, if all that its writer had applied is applied. */
inline pull() {
    n = members[i].positions.log[k] + 1;
    takes(ok);
    ok2 = 1;
    for (m : 0 .. N - 1) {
        if
        :: m != k && logs[k].batch[n].positions.log[m] > members[i].positions.log[m] -> ok2 = 0
        :: else
        fi
    }
#ifndef UNDECLARED
    /* A batch may speak of forgotten clocks, so its reader adopts first what its writer had. */
    if :: logs[k].batch[n].adopted > members[i].adopted -> ok2 = 0 :: else fi;
#endif
    if
    :: ok && ok2 ->
        members[i].positions.log[k] = n;
        merge(i, logs[k].batch[n].kind, logs[k].batch[n].timestamp, logs[k].batch[n].life,
            logs[k].batch[n].glife);
        show_same(i)
    :: else
    fi
}

inline adopt() {
    s = members[i].adopted + 1;
#ifdef ADOPTED_EARLY
    covers(members[i].positions, snaps[s].stable, ok);
#else
    covers(members[i].positions, snaps[s].positions, ok);
#endif
    if
    :: ok ->
        members[i].adopted = s;
        members[i].time = snaps[s].time;
#ifdef FUTURE_FORGOTTEN
        /* All that is in the stable point's batches, whatever its timestamp. */
        covers(snaps[s].stable, members[i].positions, ok);
        if :: ok -> forget(members[i].row, K) :: else fi;
#endif
        forget(members[i].row, members[i].time);
        show_same(i)
    :: else
    fi
}

/* The position in log k that member m has acknowledged to member i, and the snapshot that it had
 * adopted: in its last batch that i has; for i itself, now; for whoever has sent nothing, those
 * with which its log began. */
inline published(position, adopted_) {
    if
    :: m == i -> position = members[i].positions.log[k]; adopted_ = members[i].adopted
    :: else ->
        n = members[i].positions.log[m];
        if
        :: n > 0 ->
            position = logs[m].batch[n].positions.log[k]; adopted_ = logs[m].batch[n].adopted
        :: else ->
            n = snaps[last].entered.log[m];
            position = snaps[n].positions.log[k]; adopted_ = n
        fi
    fi
}

/* The stable point of a new snapshot by i: per log, and the time. */
inline compute_stable_point(s_) {
    /* Who was inactive leaves when all whose logs are open know that. */
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
        x = members[i].positions.log[k];
        for (m : 0 .. N - 1) {
            if
            :: HAS(snaps[s_].members, m) -> published(y, t); x = MIN(x, y)
            :: else
            fi
        }
        snaps[s_].stable.log[k] = MAX(snaps[s_ - 1].stable.log[k], x)
    }
    x = K;
    for (k : 0 .. N - 1) {
        n = snaps[s_].stable.log[k];
        if
        :: HAS(snaps[s_].members, k) || n < snaps[s_].positions.log[k] ->
            /* A log from which nothing is known to all has the bound of when it began. */
            y = snaps[s_ - 1].time;
            if :: n > 0 -> y = logs[k].batch[n].lowerBound :: else fi;
            x = MIN(x, y)
        :: else
        fi
    }
#ifdef NO_LOWER_BOUND
    x = 0;
    for (k : 0 .. N - 1) {
        for (m : 1 .. B) {
            if
            :: m <= snaps[s_].stable.log[k] -> x = MAX(x, TIME(logs[k].batch[m].timestamp))
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
        snaps[s_].positions.log[m] = members[i].positions.log[m]
    }
}

/* Member i, which has adopted the last snapshot and sent all it has, writes the next. */
inline snapshot() {
    s = last + 1;
    begin_snapshot(s);
    compute_stable_point(s);
    /* Some member may seem inactive. */
    if
    :: skip
    :: k = 0;
        do :: k < N - 1 -> k++ :: break od;
        if
        :: k != i && HAS(snaps[s].members, k) && !HAS(snaps[s].closing, k) ->
            snaps[s].closing = snaps[s].closing | (1 << k);
            snaps[s].closedIn.log[k] = s;
#ifdef CLOSED_AT_ONCE
            compute_stable_point(s)
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

/* Joins the row of snapshot s into that of member `who`: what the stable point covers is the
 * snapshot's. */
inline load(who, s_) {
    members[who].time = snaps[s_].time;
    forget(members[who].row, members[who].time);
    if
    :: snaps[s_].row.life > members[who].row.life ->
        members[who].row.alive = snaps[s_].row.alive; members[who].row.life = snaps[s_].row.life;
        members[who].row.reg = snaps[s_].row.reg; members[who].row.value = snaps[s_].row.value
    :: snaps[s_].row.life == members[who].row.life ->
        if
        :: (!snaps[s_].row.alive || !members[who].row.alive
            || snaps[s_].row.reg >= members[who].row.reg) ->
            members[who].row.alive = snaps[s_].row.alive;
            members[who].row.reg = snaps[s_].row.reg; members[who].row.value = snaps[s_].row.value
        :: else
        fi
    :: else
    fi;
    if
    :: snaps[s_].row.glife > members[who].row.glife ->
        members[who].row.galive = snaps[s_].row.galive;
        members[who].row.glife = snaps[s_].row.glife;
        members[who].row.greg = snaps[s_].row.greg
    :: snaps[s_].row.glife == members[who].row.glife && members[who].row.galive ->
        members[who].row.greg = MAX(members[who].row.greg, snaps[s_].row.greg)
    :: else
    fi;
    members[who].adopted = s_;
    for (m : 0 .. N - 1) {
        members[who].positions.log[m] =
            MAX(members[who].positions.log[m], snaps[s_].positions.log[m])
    }
}

/* Member i, whose log is closed, goes on as k: from the last snapshot, with its edits that nobody
 * has accepted, if they are above the stable point's time. The new log enters by a snapshot. */
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
    members[k].lowerBound = snaps[s].time;
    for (m : 0 .. N - 1) { members[k].positions.log[m] = snaps[s].positions.log[m] }
#ifndef ENTRY_UNDECLARED
    /* The same content; only the list of members is another. */
    y = i; i = k;
    s = last + 1;
    begin_snapshot(s);
    i = y;
    for (m : 0 .. N - 1) { snaps[s].stable.log[m] = snaps[s - 1].stable.log[m] }
    snaps[s].time = snaps[s - 1].time;
    snaps[s].members = snaps[s].members | (1 << k);
    snaps[s].entered.log[k] = s;
    copy_row(snaps[s].row, snaps[s - 1].row);
    last = s;
    members[k].adopted = s;
#endif
    /* The last edit that nobody accepted, if there is one. */
    n = members[i].positions.log[i];
    if
    :: n > snaps[last].positions.log[i] && logs[i].batch[n].kind != NONE ->
        t = logs[i].batch[n].timestamp;
        x = TIME(t);
        ok = (x > members[k].time);
#ifdef RETURN_MERGED
        ok = 1;
#endif
        y = logs[i].batch[n].kind;
        if
        :: ok ->
            t = TIMESTAMP(x, k);
            logs[k].batch[1].kind = y;
            logs[k].batch[1].timestamp = t;
            /* An update is one of the row that the snapshot has; where there is none, it was
             * deleted, and the edit is a conflict. */
            logs[k].batch[1].life = members[k].row.life;
            logs[k].batch[1].glife = members[k].row.glife;
            merge(k, y, t, members[k].row.life, members[k].row.glife);
            x = members[k].lowerBound;
            do :: x < K -> x++ :: break od;
            members[k].lowerBound = x;
            logs[k].batch[1].lowerBound = members[k].lowerBound;
            members[k].positions.log[k] = 1;
            for (m : 0 .. N - 1) { logs[k].batch[1].positions.log[m] = members[k].positions.log[m] }
            logs[k].batch[1].adopted = members[k].adopted;
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

active proctype environment() {
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
        :: WORKS(i) && !members[i].unsent && members[i].positions.log[i] < B -> seal()
        :: members[i].unsent && !members[i].gone ->
            logs[i].count = members[i].positions.log[i]; members[i].unsent = 0
        :: WORKS(i) ->
            k = 0;
            do :: k < N - 1 -> k++ :: break od;
            if :: k != i && members[i].positions.log[k] < logs[k].count -> pull() :: else fi
        :: WORKS(i) && members[i].adopted < last -> adopt()
        :: (WORKS(i) && members[i].adopted == last && last < SNAPS
            && !members[i].unsent) -> snapshot()
#ifdef UNDECLARED
        :: WORKS(i) && members[i].adopted == last && last < SNAPS && !members[i].unsent ->
            begin_snapshot(last + 1); compute_stable_point(last + 1);
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
