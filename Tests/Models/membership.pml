/* The rules by which members join and leave a group, for spin: the chain of members, and what
 * counts of logs and snapshots after a removal.
 *
 * A and C are honest admins, D joins, R is hostile. Honest members read the chain, each log and the
 * manifests in any order and as late as they like; they write, make snapshots, remove, start over,
 * and C may leave. R signs any number of batches with one number, so a position in its log is also
 * a hash; it signs manifests, false or not, and names any entry whose key it has. It shows, hides
 * and replaces its batches, and all manifests under keys that it has. It forks, invites, and leaves
 * with any position and snapshot. At any moment this ends: an admin removes R, the store shows
 * everything again that the chain names, and all sync until nothing changes. What must hold:
 *   - R can be removed, even after it has left; then none of its forks and invitations is active;
 *   - no key that R has opens what is written in knowledge of the removal;
 *   - a member that knows of the removal, from the chain or from a batch, applies none of R's
 *     batches but those up to the position in the entry, and loads no false manifest;
 *   - a batch is applied only by members whose snapshot is its writer's, or follows that one;
 *   - a member that starts over has applied nothing that does not count;
 *   - at the end all honest members have applied the same batches, and have adopted the same
 *     snapshot, made after the removal; and all that counts of an honest log is applied.
 *
 * The model has no rows, roles, clocks, inactive members, readers, and no second chain or group.
 * Devices that R adds with a code stay (decision 36). A member that loads a false manifest before
 * its writer is removed has its rows: `SyncEngine.verify()` finds that, and a reset mends it.
 *
 * The rule is that of SyncFormat.md. With MISTAKE it has one of these, which Scripts/check-models
 * finds; after each is the test that fails if the code has it:
 *   NO_POSITION       a removal does not end R's log:
 *                     SyncRemovalTests `what it writes without knowing`
 *   NUMBER_ALONE      it ends it at a number, with any hash:
 *                     SyncRevocationTests `in the place of those`
 *   OLDER_ENTRY       later batches count if they name an entry before the removal:
 *                     SyncRemovalTests `batches and snapshots that it signs`
 *   RAISED            what others have applied raises the limit:
 *                     SyncRevocationTests `makes nothing`
 *   UNREAD_ENTRY      a batch is applied before the entry that it names is read: the same test
 *   STAYS             who has applied late batches keeps them: SyncRevocationTests `in the end`
 *   ALL_OF_LOG        who starts over leaves with all its batches, tainted ones too: the same test
 *   NO_SNAPSHOT       a removal names no snapshot:
 *                     SyncFalseSnapshotTests `in the place of the newest`
 *   SNAPSHOT_NUMBER   its hash does not count: the same test
 *   FORKS_STAY        R's forks stay: SyncKeyChangeTests `what a device has forked goes with it`
 *   INVITATION_STAYS  its open invitations stay: MembershipStateTests `open invitations go with`
 *   NO_NEW_KEY        a removal begins no epoch: GroupRemovalTests `reads nothing of later epochs`
 *   OLD_KEY           later manifests under a key from before the removal count:
 *                     SyncDepartureTests `writes after a snapshot`
 *   FORKS_BEFORE      R's forks are looked up before the entry has its number:
 *                     SyncKeyChangeTests `forks while it is removed`
 *   PIN_BEFORE        so is the snapshot, which another removal may make invalid meanwhile; and an
 *                     entry whose snapshot is invalid still asks newcomers for it:
 *                     SyncDepartureTests `of two removals at once`
 *   PIN_NEWER         the entry names a newer snapshot than the admin's, if R hides that one:
 *                     SyncDepartureTests `that its author has not checked`
 *   FORGOTTEN         the removal fails if R hides its last batch:
 *                     SyncDepartureTests `removes its last batch`
 *   LATE_NUMBER       whether a batch is late is judged by its number if that is lower:
 *                     SyncDepartureTests `another batch than the one that counts`
 *   ADOPT_NUMBER      so is a position in a manifest, if the member has read further:
 *                     SyncDepartureTests `of other batches than this file`
 *   BELOW_PIN         a manifest with a lower number than the one in the entry counts, although
 *                     that one does not follow it: SyncDepartureTests `knows another snapshot`
 *   LOAD_BELOW        only newcomers wait for the snapshot that an entry names:
 *                     SyncDepartureTests `waits for the snapshot`
 *   ENTERS_INVALID    a newcomer begins its log after the snapshot that it has loaded, even if that
 *                     has become invalid: SyncDepartureTests `is not entered after`
 *   OWN_INVALID       who starts over counts its log from its own snapshot, although that is
 *                     invalid: SyncDepartureTests `writes after a snapshot`
 *   FIRST_INVALID     it takes its batches since an earlier invalid snapshot for untainted:
 *                     the same test
 *   INVALID_PASSED    batches of members that had adopted an invalid snapshot count: the same test
 *   OTHER_SNAPSHOT    a batch is applied although its writer had adopted a snapshot that the
 *                     reader's own does not follow: SyncDepartureTests `knows another snapshot`
 *   UNFOLLOWED        the last snapshot of a member that has left is skipped, but batches of
 *                     members that have adopted it are applied:
 *                     SyncDepartureTests `the last snapshot of a member that leaves`
 *   AT_BEGINNING      a removal names position 0 of a member that an earlier group had removed:
 *                     SyncDepartureTests `that a following group repeats`
 *   LEAVES            a member that has left by itself cannot be removed:
 *                     SyncDepartureTests `leaves where its log does not end`
 *   LEAVE_DROPS       members that have more of a member than it says when it leaves start over,
 *                     without a removal: the same test
 * In the code, a member that starts over may leave earlier than it has to, if the store does not
 * show its batches. So there, others start over that have more than such an entry says, unless a
 * snapshot has that, too.
 */
mtype = {
    RULE, NO_POSITION, NUMBER_ALONE, OLDER_ENTRY, RAISED, UNREAD_ENTRY, STAYS, ALL_OF_LOG,
    NO_SNAPSHOT, SNAPSHOT_NUMBER, FORKS_STAY, INVITATION_STAYS, NO_NEW_KEY, OLD_KEY,
    FORKS_BEFORE, PIN_BEFORE, PIN_NEWER, FORGOTTEN, LATE_NUMBER, ADOPT_NUMBER, BELOW_PIN,
    LOAD_BELOW, ENTERS_INVALID, OWN_INVALID, FIRST_INVALID, INVALID_PASSED, OTHER_SNAPSHOT,
    UNFOLLOWED, AT_BEGINNING, LEAVES, LEAVE_DROPS
}
#ifndef MISTAKE
#define MISTAKE RULE
#endif
#define IS(mistake) (MISTAKE == mistake)

#define A 0
#define C 1
#define D 2
#define R 3
#define F 4        /* R's fork */
#define I 5        /* R's open invitation */
#define NEXT 6     /* as whom honest files start over */
#define IDS 8
#define B 2        /* batches in an honest log */
#define RN 2       /* numbers in R's log, */
#define RB 5       /* and its batches */
#define E 13       /* entries of the chain */
#define MS 10      /* manifests, */
#define S 12       /* and their numbers */
#define FREE 6     /* entries, and manifests, before the end */
#define ROUNDS 12  /* of syncs at the end */
#define UNREAD 255 /* a manifest that names an entry which its reader has not read */

#define MAX(a_, b_) ((a_) > (b_) -> (a_) : (b_))
#define HAS(set, who) (((set) >> (who)) & 1)
#define LEFT(k_) (left && left <= (k_))
#define REMOVED(k_) (out[R] && out[R] <= (k_))
#define GONE(k_, who) (out[who] && out[who] <= (k_) || (who) == R && LEFT(k_))
#define ACTIVE(k_, who) (in[who] && in[who] <= (k_) && !GONE(k_, who))
#define HOSTILE (ACTIVE(last, R) || ACTIVE(last, F) || ACTIVE(last, I))
#define ME file[f]
#define NUMBER(id_) man[id_].number
#define EACH(i_) i_ : 0 .. IDS - 1

typedef Vector { byte log[IDS] };
typedef Signed { byte number; byte before; byte knows };
typedef Batch { byte knows; byte r; byte adopted; Vector has };
typedef Log { byte count; Batch batch[B + 1] };
typedef Manifest {
    byte number; byte writer; byte before; byte knows;
    bit isFalse;      /* its rows or its stable point are not the group's */
    byte logs;        /* which have begun: bits */
    byte r; Vector has
};
typedef File {
    byte own;         /* the member that it is */
    byte knows;       /* so many entries */
    bit entered; byte adopted;
    byte r;           /* R's batch that it has applied last */
    Vector has;       /* the numbers of the others' */
    byte heard;       /* the last entry that what it has applied names */
    byte does;        /* 1: removes R, 2: removes R's invitation, 3: starts over */
    bit forks; byte pin; byte next; byte raised
};

byte last;            /* entry of the chain */
byte epoch[E + 1];
byte pin[E + 1];      /* the manifest that a removal names */
byte in[IDS];         /* the entry by which each has come, */
byte out[IDS];        /* and gone; what that one names: */
byte limit[IDS];      /* its last batch, */
byte rLimit;          /* or R's, */
byte named[IDS];      /* and the newest manifest */
byte left;            /* the entry by which R has left by itself; what that one names: */
byte leftLimit;
byte leftNamed;
byte keys;            /* the last epoch whose key R has */
Signed batch[RB + 1];
byte rCount;
byte rShown[RN + 1];  /* what the store has under each number */
Log logs[IDS];
Manifest man[MS + 2]; /* R may name one that nobody has */
byte mCount;
byte shown[S + 1];
File file[3];
byte next = NEXT;
byte quits = IDS;     /* who has left for good */
bit ends;
bit unclear;          /* rows are false as said above, or the model has no more room */
byte round;

byte f, what, p, q;
byte a, e, g, k, m, n, t, u, v, w, x, y, ok, isValid, follows;

/* a: of the log that ends with a batch of R's, the one with a number. */
inline back(id_, n_) {
    a = id_; do :: batch[a].number > n_ -> a = batch[a].before :: else -> break od
}

/* v: whether a batch of R's is late, by the chain up to k. */
inline late(id_) {
    e = (REMOVED(k) -> rLimit : leftLimit); back(e, batch[id_].number);
    a = (IS(LATE_NUMBER) && batch[id_].number <= batch[e].number -> id_ : a);
    v = GONE(k, R) && a != id_
}

inline beyond(has_) { for (EACH(x)) { v = v || GONE(k, x) && has_.log[x] > limit[x] } }

/* ok: whether a manifest counts, by the chain up to k; w: also if nobody has followed it. */
inline counts(id_) {
    t = man[id_].writer;
    y = (t == R && !REMOVED(k) -> leftNamed : named[t]);
    ok = (!GONE(k, t) || NUMBER(id_) <= NUMBER(y)
        || id_ == ME.adopted && t == R && !REMOVED(k) && !IS(LEAVE_DROPS));
    w = !GONE(k, t) || y == id_ && !IS(UNFOLLOWED);
    for (y : 1 .. k) {
        t = pin[y]; w = w || t && t == id_;
        if
        :: t && NUMBER(id_) > NUMBER(t) ->
            ok = ok && (epoch[man[id_].knows] >= epoch[y] || IS(OLD_KEY))
        :: t && NUMBER(id_) <= NUMBER(t) && !IS(SNAPSHOT_NUMBER) ->
            do
            :: NUMBER(t) > NUMBER(id_) -> t = (IS(BELOW_PIN) -> id_ : man[t].before)
            :: else -> break
            od;
            ok = ok && id_ == t
        :: else
        fi
    }
}

/* v: whether the file has applied what does not count. */
inline stale() {
    late(ME.r); v = v && (REMOVED(k) || IS(LEAVE_DROPS));
    v = v || (IS(LATE_NUMBER) && GONE(k, R) && ME.r && ME.r != e
        && batch[ME.r].number == batch[e].number);
    counts(ME.adopted); v = (v || !ok) && !IS(STAYS)
}

/* m: the newest manifest after a number that counts; 0 for none. */
inline newest(n_) {
    m = 0; g = n_;
    for (x : 1 .. S) {
        counts(shown[x]);
        m = (shown[x] && x > g -> (man[shown[x]].knows > k -> UNREAD : (ok -> shown[x] : m)) : m)
    }
}

/* m: the manifest to adopt next; v: whether its writer is gone, and nobody has followed it. */
inline following() {
    m = 0; v = 0; g = 0;
    for (x : 1 .. S) {
        counts(shown[x]);
        if
        :: !shown[x] || x <= NUMBER(ME.adopted)
        :: shown[x] && x > NUMBER(ME.adopted) && man[shown[x]].knows > k -> m = (m -> m : UNREAD)
        :: else ->
            if
            :: ok && !m -> m = shown[x]; g = m; v = !w
            :: ok && m && v && man[shown[x]].before == g -> g = shown[x]; v = !w
            :: else
            fi
        fi
    }
}

/* u: the number of the newest snapshot that an entry names. */
inline least() {
    u = 0;
    for (g : 1 .. k) {
        n = pin[g]; counts(n); ok = (ok || IS(PIN_BEFORE)) && !(IS(LOAD_BELOW) && ME.entered);
        u = (n && ok -> MAX(u, NUMBER(n)) : u)
    }
}

inline create(number_, writer_, before_, knows_) {
    mCount++;
    NUMBER(mCount) = number_; man[mCount].writer = writer_;
    man[mCount].before = before_; man[mCount].knows = knows_;
    man[mCount].isFalse = man[before_].isFalse; man[mCount].logs = man[before_].logs;
    man[mCount].r = man[before_].r;
    for (EACH(x)) { man[mCount].has.log[x] = man[before_].has.log[x] }
    shown[number_] = mCount
}

inline entry() { last++; epoch[last] = epoch[last - 1] }
inline give_key() { keys = (HOSTILE -> epoch[last] : keys) }
inline add(who) { entry(); in[who] = last; give_key() }
inline go(who, limit_, named_) { out[who] = last; limit[who] = limit_; named[who] = named_ }

/* Who has left by itself can still be removed: it has chosen what counts. */
#define REMOVABLE(k_) (!REMOVED(k_) && !(IS(LEAVES) && LEFT(k_)))

inline begin_removal() {
    if
    :: p == 1 && REMOVABLE(k) || p == 2 && ACTIVE(k, I) ->
        n = batch[ME.r].number;
        assert(!IS(FORGOTTEN) || p == 2 || !n || rShown[n] || batch[man[ME.adopted].r].number >= n);
        newest(NUMBER(ME.adopted));
        m = (IS(PIN_NEWER) && shown[NUMBER(ME.adopted)] != ME.adopted && m != UNREAD -> m : 0);
        ME.does = p; ME.forks = ACTIVE(k, F); ME.pin = (m -> m : ME.adopted)
    :: else
    fi
}

inline end_removal() {
    k = last; counts(ME.pin);
    ME.forks = (IS(FORKS_BEFORE) -> ME.forks : ACTIVE(k, F));
    if
    :: ((ok || IS(PIN_BEFORE)) && ACTIVE(k, ME.own)
        && (ME.does == 1 && REMOVABLE(k) || ME.does == 2 && ACTIVE(k, I))) ->
        entry(); ME.knows = last;
        pin[last] = (IS(NO_SNAPSHOT) -> 0 : ME.pin);
        epoch[last] = epoch[last] + !IS(NO_NEW_KEY);
        if
        :: ME.does == 1 ->
            go(R, 0, ME.pin);
            m = man[ME.pin].r; rLimit = (batch[m].number > batch[ME.r].number -> m : ME.r);
            rLimit = (IS(AT_BEGINNING) -> 0 : rLimit);
            if :: ME.forks && !IS(FORKS_STAY) -> go(F, 0, ME.pin) :: else fi
        :: else
        fi;
        if :: ACTIVE(last, I) && !IS(INVITATION_STAYS) -> go(I, 0, ME.pin) :: else fi;
        give_key();
        assert(ME.does == 2 || !HOSTILE)
    :: else
    fi;
    ME.does = 0
}

#define OWN logs[ME.own].batch[n + 1]

/* m: the snapshot from which the file starts over, or 0; n: its last batch that is not tainted. */
inline untainted() {
    least(); counts(ME.adopted); n = (ok -> UNREAD : NUMBER(ME.adopted));
    if
    :: ok || IS(OWN_INVALID) -> m = ME.adopted
    :: else -> newest(0); m = (m != UNREAD && NUMBER(m) >= u -> m : 0)
    fi;
    u = n; n = man[m].has.log[ME.own];
    do
    :: n < logs[ME.own].count ->
        late(OWN.r); beyond(OWN.has); g = OWN.adopted; counts(g);
        v = v || (IS(FIRST_INVALID) -> NUMBER(g) >= u : !ok);
        if :: v && !IS(ALL_OF_LOG) -> break :: else -> n++ fi
    :: else -> break
    od
}

/* The file becomes another member, and then the one that it was leaves. */
inline start_over() {
    untainted();
    unclear = unclear || next == IDS;
    if
    :: m && !unclear ->
        ME.next = next; ME.does = 3;
        add(next); next++; ME.knows = last
    :: else
    fi
}

inline end_start() {
    k = last; untainted();
    if
    :: !ACTIVE(last, ME.own) -> ME.does = 0
    :: ACTIVE(last, ME.own) && m ->
        entry(); go(ME.own, n, m);
        ME.own = ME.next; ME.knows = last; ME.does = 0;
        ME.entered = 0; ME.adopted = 0; ME.r = 0;
        for (EACH(x)) { ME.has.log[x] = 0 }
    :: else
    fi
}

/* Loads the newest snapshot: a log begins, or the store lacks batches that the file needs. */
inline load() {
    least(); counts(ME.adopted);
    g = (ok || IS(ENTERS_INVALID) -> NUMBER(ME.adopted) : 0); newest(g);
    if
    :: m && m != UNREAD && NUMBER(m) >= u && (!ME.entered || HAS(man[m].logs, ME.own)) ->
        unclear = unclear || man[m].isFalse && !REMOVED(k) && f != D;
        assert(unclear || !REMOVED(k) || !man[m].isFalse);
        ME.adopted = m;
        ME.r = (!ME.entered || batch[man[m].r].number > batch[ME.r].number -> man[m].r : ME.r);
        for (EACH(x)) {
            n = (ME.entered -> ME.has.log[x] : 0); ME.has.log[x] = MAX(n, man[m].has.log[x])
        }
        stale(); assert(!v || ME.entered)
    :: else
    fi
}

/* Writes the next manifest: with all that the file has, or to say that its log begins. */
inline write_snapshot() {
    least(); newest(NUMBER(ME.adopted)); counts(ME.adopted); n = NUMBER(ME.adopted);
    for (x : 1 .. S) { n = (shown[x] -> MAX(n, x) : n) }
    if
    :: (!m && (ok || IS(ENTERS_INVALID)) && NUMBER(ME.adopted) >= u
        && mCount < (ends -> MS : FREE) && n < S) ->
        n++; create(n, ME.own, ME.adopted, k);
        if
        :: ME.entered ->
            man[mCount].r = ME.r; for (EACH(x)) { man[mCount].has.log[x] = ME.has.log[x] }
        :: else -> man[mCount].logs = man[mCount].logs | 1 << ME.own
        fi;
        ME.adopted = mCount; ME.entered = 1
    :: else -> unclear = unclear || ends && !m && (mCount == MS || n == S)
    fi
}

inline adopt() {
    following();
    if
    :: m && m != UNREAD && !v ->
        back(ME.r, batch[man[m].r].number);
        a = (IS(ADOPT_NUMBER) && batch[man[m].r].number < batch[ME.r].number -> man[m].r : a);
        ok = man[m].before == ME.adopted && !man[m].isFalse && a == man[m].r;
        for (EACH(x)) { ok = ok && ME.has.log[x] >= man[m].has.log[x] }
        ME.adopted = (ok -> m : ME.adopted)
    :: else
    fi
}

/* Applies R's next batch. */
inline pull_hostile() {
    n = batch[ME.r].number + 1; m = (n <= RN -> rShown[n] : 0);
    e = (REMOVED(k) -> rLimit : leftLimit); back(e, n);
    v = (GONE(k, R) && a != m && n > ME.raised && !IS(NO_POSITION)
        && !(IS(NUMBER_ALONE) && n <= batch[e].number)
        && !(IS(OLDER_ENTRY) && batch[m].knows < (REMOVED(k) -> out[R] : left)));
    if
    :: m && !v && batch[m].before == ME.r && batch[m].knows <= k ->
        ME.r = m; ME.heard = MAX(ME.heard, k); back(rLimit, n);
        assert(!REMOVED(ME.heard) || a == m)
    :: else
    fi
}

#define IT logs[q].batch[n]

/* Applies the next batch of an honest log. */
inline pull() {
    n = ME.has.log[q] + 1;
    if
    :: n <= logs[q].count && HAS(man[ME.adopted].logs, q) && !(GONE(k, q) && n > limit[q]) ->
        ME.raised = (IS(RAISED) -> MAX(ME.raised, batch[IT.r].number) : 0);
        late(IT.r); beyond(IT.has); back(ME.r, batch[IT.r].number); m = IT.adopted; counts(m);
        isValid = ok;
        u = !v && a == IT.r && (IT.knows <= k || IS(UNREAD_ENTRY));
        for (EACH(x)) { u = u && (x == q || IT.has.log[x] <= ME.has.log[x]) }
        following();
        t = ME.adopted;
        do :: NUMBER(t) > NUMBER(IT.adopted) -> t = man[t].before :: else -> break od;
        follows = t == IT.adopted;
        u = u && (isValid && follows || IS(UNFOLLOWED) && v && m == IT.adopted
            || (isValid -> IS(OTHER_SNAPSHOT) : IS(INVALID_PASSED))
                && NUMBER(IT.adopted) < NUMBER(ME.adopted));
        if
        :: u ->
            assert(follows);
            ME.has.log[q] = n; ME.heard = MAX(ME.heard, IT.knows)
        :: else
        fi
    :: else
    fi
}

inline write() {
    n = logs[ME.own].count;
    if
    :: n < B && ACTIVE(last, ME.own) ->
        assert(!REMOVED(k) || epoch[k] > keys);
        OWN.knows = k; OWN.r = ME.r; OWN.adopted = ME.adopted;
        for (EACH(x)) { OWN.has.log[x] = ME.has.log[x] }
        logs[ME.own].count = n + 1; ME.has.log[ME.own] = n + 1
    :: else
    fi
}

/* Whether R can sign or replace a manifest. */
#define REACH(id_) (!(id_) || epoch[man[id_].knows] <= keys)

/* R forks or invites; signs a batch after q that names entry p; shows or hides batch q; signs a
 * manifest after q; shows or hides manifest q; leaves. */
inline harm() {
    if
    :: what == 13 && ACTIVE(last, R) && last < FREE && !in[F + p] -> add(F + p)
    :: (what == 14 && rCount < RB && q <= rCount && batch[q].number < RN && p <= last
        && epoch[p] <= keys) ->
        rCount++; rShown[batch[q].number + 1] = rCount;
        batch[rCount].number = batch[q].number + 1;
        batch[rCount].before = q; batch[rCount].knows = p
    :: what == 15 && q <= rCount -> rShown[batch[q].number] = (p -> q : 0)
    :: (what == 16 && q <= mCount && mCount < FREE && NUMBER(q) + 2 < S
        && REACH(shown[NUMBER(q) + 1 + (p & 1)])) ->
        n = NUMBER(q) + 1 + (p & 1); t = 0;
        for (x : 1 .. last) { t = (epoch[x] <= keys -> x : t) }
        create(n, R, q, t);
        man[mCount].isFalse = man[mCount].isFalse || p & 2;
        man[mCount].r = (p & 4 && !man[q].r -> rShown[1] : man[q].r)
    :: what == 17 && q <= mCount && REACH(shown[NUMBER(q)]) -> shown[NUMBER(q)] = (p -> q : 0)
    :: what == 18 && ACTIVE(last, R) && last < FREE && q <= rCount ->
        entry(); left = last; leftLimit = q; leftNamed = (p -> p : MS + 1); NUMBER(MS + 1) = S
    :: else
    fi
}

/* The store shows again what the chain names. */
inline repair() {
    for (x : 1 .. RN) {
        back(rLimit, x); rShown[x] = (REMOVED(last) && batch[a].number == x -> a : rShown[x])
    }
    for (y : 1 .. last) {
        t = pin[y]; do :: t -> shown[NUMBER(t)] = t; t = man[t].before :: else -> break od
    }
}

inline act() {
    k = ME.knows; v = 0;
    if :: ME.entered -> stale() :: else fi;
    if
    :: what >= 13 -> harm()
    :: what == 0 -> ME.knows = (k && p > k && p <= last -> p : k)
    :: what == 1 && last < E && (ME.does == 1 || ME.does == 2) -> end_removal()
    :: what == 1 && last < E && ME.does == 3 -> end_start()
    :: what == 2 && f == D && !in[D] && last < FREE -> add(D); ME.knows = last
    :: what > 2 && what < 13 && !ME.does && ACTIVE(k, ME.own) ->
        if
        :: what == 3 && ME.entered && v && ACTIVE(last, ME.own) && last < E - 1 -> start_over()
        :: what == 4 && (!ME.entered || !v && REMOVED(k) && !ends) -> load()
        :: what == 5 && (ME.entered && !v || !ME.entered && ME.adopted) -> write_snapshot()
        :: what == 6 && f != D && ME.entered && !v && (ends || last < FREE) -> begin_removal()
        :: what == 7 && ME.entered && !v -> adopt()
        :: what == 8 && ME.adopted && !v -> pull_hostile()
        :: what == 9 && ME.adopted && !v && q != ME.own -> pull()
        :: what == 10 && ME.entered -> write()
        :: what == 11 && f == C && ME.entered && !v && k == last && last < FREE ->
            quits = ME.own; entry(); go(quits, logs[quits].count, ME.adopted); ME.knows = last
        :: else
        fi
    :: else
    fi
}

inline check() {
    assert(unclear || REMOVED(last));
    m = 0;
    for (f : 0 .. D) {
        if
        :: ACTIVE(last, ME.own) && !unclear ->
            g = (m -> g : f); m = (m -> m : ME.adopted);
            assert(ME.entered && ME.r == rLimit && ME.adopted == m && !man[m].isFalse);
            for (EACH(x)) {
                /* The one that has left sends nothing again. */
                n = (GONE(last, x) -> limit[x] : logs[x].count);
                assert(ME.has.log[x] == (x == quits -> file[g].has.log[x] : n))
            }
        :: else
        fi
    }
    assert(unclear || man[m].knows >= out[R])
}

active proctype environment() {
    d_step {
        last = 1; epoch[1] = 1; keys = 1; in[A] = 1; in[C] = 1; in[R] = 1;
        mCount = 1; NUMBER(1) = 1; man[1].knows = 1; man[1].logs = 1 << A | 1 << C | 1 << R;
        /* Two first batches, and one that follows the first of them. */
        rCount = 3; batch[1].number = 1; batch[2].number = 1; batch[3].number = 2;
        for (x : 1 .. 3) { batch[x].knows = 1 }
        batch[3].before = 1; rShown[1] = 1; rShown[2] = 3;
        shown[1] = 1; file[D].own = D; x = 0;
        for (f : 0 .. 1) { ME.own = f; ME.knows = 1; ME.entered = 1; ME.adopted = 1 }
    }
    do
    :: round < ROUNDS ->
        atomic {
            if
            :: if :: f = A :: f = C :: f = D fi;
                if
                :: what = 0; if :: p = last :: p = ME.knows + 1 fi
                :: what = 6; if :: p = 1 :: p = 2 fi
                :: what = 9; if :: q = A :: q = C :: q = D :: q = NEXT :: q = NEXT + 1 fi
                :: what = 1 :: what = 2 :: what = 3 :: what = 4 :: what = 5 :: what = 7 :: what = 8
                :: what = 10 :: what = 11
                fi
            :: if :: p = 0 :: p = 1 fi;
                if
                :: what = 13
                :: what = 14; select(q : 0 .. rCount); select(p : 1 .. last)
                :: what = 15; select(q : 1 .. rCount)
                :: what = 16; select(q : 1 .. mCount); select(p : 0 .. 7)
                :: what = 17; select(q : 1 .. mCount)
                :: what = 18; select(q : 0 .. rCount); select(p : 0 .. mCount)
                fi
            :: ends = 1
            fi;
            d_step {
                if :: ends -> f = 0; what = 0; q = 0; repair() :: else fi;
                do
                :: p = (ends -> (what -> 1 : last) : p);
                    act();
                    if
                    :: !ends -> break
                    :: ends && what == 9 && q < IDS - 1 -> q++
                    :: else -> q = 0; what++
                    fi;
                    what = (what == 6 && REMOVED(last) -> 7 : what);
                    /* A snapshot in the middle, besides those with which logs begin. */
                    what = (what == 5 && ME.entered && (f != A || round != ROUNDS / 2) -> 6 : what);
                    if :: what > 9 -> what = 0; f++ :: else fi;
                    if :: f > D -> f = 0; round++; repair() :: else fi;
                    if :: round == ROUNDS -> check(); break :: else fi
                od;
                f = 0; what = 0; p = 0; q = 0;
                a = 0; e = 0; g = 0; k = 0; m = 0; n = 0; t = 0; u = 0; v = 0; w = 0;
                x = 0; y = 0; ok = 0; isValid = 0; follows = 0
            }

        }
    :: else -> break
    od
}
