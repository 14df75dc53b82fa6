public import Foundation

/// Why a store or a mirror failed.
///
/// Descriptions contain names of objects, files and devices, and messages of an engine; never a
/// key, a password, or content of a database.
public enum SyncError: Error, Sendable, Hashable {
    /// A name breaks the rule of ``SyncObjectName``.
    case invalidName(String)

    /// The store does not keep the promise on which everything rests; the text says what was seen.
    case storeCannotCreateOnly(String)

    /// The store has failed.
    ///
    /// - code: The engine's own: `503 SlowDown` of S3, an SQLSTATE of PostgreSQL, the name of an
    ///   `errno`.
    /// - message: The engine's text.
    /// - isTransient: Whether the same call may succeed later: the network, the load, a restart.
    case store(code: String, message: String, isTransient: Bool)

    /// Another mirror writes under this name; this one has stopped.
    case otherMirror(String)

    /// The store has no complete mirror of this name, or none of that time.
    case noMirror(String)

    /// Which state was the newest at that time cannot be told: the mirror's machine had a wrong
    /// clock, and the state after the one of `last` has the time `next`, which is still to come.
    case clockWasWrong(last: Date, next: Date)

    /// What a mirror has of that time was stored with another key of the database, or with other
    /// settings of the key's derivation; the text names an object.
    case wrongKey(String)

    /// The mirror is of a database with pages of so many bytes, which the configuration has to say.
    case otherPageSize(Int)

    /// An object is not as it was written, or is missing; the second text says how that shows.
    case damaged(String, String)

    /// A newer version of this library has written the object.
    case newerFormat(String)

    /// The file belongs to no group, or no more: this member was removed.
    case notAMember

    /// The file belongs to a group already.
    case alreadyMember

    /// The invitation does not let this file join; the text is the reason, and what to do.
    case invitationNotAccepted(String)

    /// The group's rules do not allow the change; the text is the rule.
    case notAllowed(String)

    /// The system lacks HPKE: sync needs iOS 17, macOS 14 or later.
    case needsNewerSystem

    /// The member of this name has changed the group's key, and has not given this device the one
    /// that the others have; it can read what was sealed before.
    case keyWithheld(by: String)

    /// The other members know other keys of this one than the device has, and it cannot read the
    /// group's any more: a copy of the device has replaced them, or the device was put back to an
    /// older state together with its key store, or somebody else uses its keys.
    case keysReplaced

    /// The store shows less of a log than it has shown before, only up to `found`: it was put back
    /// to an older state, or objects were removed.
    case storeHasForgotten(SyncLog, have: UInt64, found: UInt64)

    /// The store does not show an object of a log though another member has read it.
    case withheld(SyncLog, number: UInt64)

    /// The clock of a member's device is more than a month ahead of this one's: what it has written
    /// is taken up at that time.
    case clockIsAhead(SyncLog, until: Date)

    /// A row of this table has more than 16 MiB, which is more than sync takes.
    case rowTooLarge(String)

    /// Another engine, of this or another process, has worked on this file for more than a minute.
    case otherEngine

    /// The group goes on in another store, which this engine was not created with.
    case groupHasMoved

    /// The table cannot be synced; the second text is the reason, and what to change.
    case unsuitableTable(String, String)

    /// Changes of the table may have been lost: a trigger that captures them is missing, or is not
    /// that of the table's columns.
    case captureWasOff(String)
}

extension SyncError {
    /// Whether the same call may succeed later.
    public var isTransient: Bool {
        if case .store(_, _, let isTransient) = self { return isTransient }
        return false
    }

    /// Whether it may pass by itself, while this member goes on with the rest: others or the store
    /// may repair it, the library may be updated, the other engine may end.
    var mayPass: Bool {
        switch self {
        case .withheld, .storeHasForgotten, .damaged, .newerFormat, .otherEngine, .keyWithheld,
            .clockIsAhead:
            true
        default: false
        }
    }

    /// Whether an object is not as it was written.
    var isDamaged: Bool {
        if case .damaged = self { return true }
        return false
    }

    /// Whether it is a finding about what was stored.
    var isFinding: Bool {
        if case .newerFormat = self { return true }
        return isDamaged
    }

    /// Whether a log stands still since one of its objects cannot be read, or waits for another
    /// one: whoever writes a log can do that to it, and the others go on.
    var isOfALog: Bool {
        switch self {
        case .damaged, .withheld, .clockIsAhead: true
        default: false
        }
    }

    var isWithheldKey: Bool {
        switch self {
        case .keyWithheld, .keysReplaced: true
        default: false
        }
    }

    /// Whether the store does not show what it has to have.
    var isAbsence: Bool {
        switch self {
        case .withheld, .storeHasForgotten: true
        default: false
        }
    }
}

extension SyncError: CustomStringConvertible {
    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .invalidName(let name):
            "\"\(name)\" cannot be the name of an object: names have the characters a to z, 0 to 9, -, _ "
                + "and ., with / between components, which do not begin with a dot"
        case .storeCannotCreateOnly(let reason):
            "the store cannot be used: \(reason); use one that supports conditional creation"
        case .otherMirror(let name):
            "another mirror writes under the name \"\(name)\", so this one has stopped; give each database "
                + "a name of its own, or start this one again to take over"
        case .noMirror(let name):
            "the store has no complete mirror \"\(name)\" of that time"
        case .clockWasWrong(let last, let next):
            "the clock of the mirror's machine was wrong: the state after that of \(Self.text(last)) has "
                + "the time \(Self.text(next)), which is still to come; restore one of these two, or the "
                + "newest"
        case .wrongKey(let name):
            "wrong key: the object \"\(name)\" was stored with another one; states from before a change "
                + "of the key have the key of that time"
        case .otherPageSize(let size):
            "the database has pages of \(size) bytes; set configuration.cipher.pageSize"
        case .damaged(let name, let reason):
            "the object \"\(name)\" is damaged: \(reason); check the key; if it is right, restore an "
                + "earlier point in time"
        case .newerFormat(let name):
            "the object \"\(name)\" was written by a newer version of this library; update it"
        case .notAMember:
            "the file is not a member of a group, or was removed from it; create a group, or join one"
        case .alreadyMember:
            "the file is a member of a group already; leave that first"
        case .invitationNotAccepted(let reason):
            "the invitation is not accepted: \(reason)"
        case .notAllowed(let rule):
            "the group does not allow it: \(rule)"
        case .needsNewerSystem:
            "this system has no HPKE; sync needs macOS 14, iOS 17, tvOS 17, watchOS 10 or later"
        case .keyWithheld(let name):
            "\"\(name)\" has changed the group's key, and has not given it to this device; let an admin "
                + "remove \"\(name)\", which changes the key again"
        case .keysReplaced:
            "this member's keys were replaced, and this device does not have the new ones; join again "
                + "with an invitation; if no copy of the device has replaced them, somebody else has its "
                + "keys: let an admin remove this member"
        case .storeHasForgotten(let log, let have, let found):
            "the store has forgotten a part of \(log): number \(have) was there, and it shows "
                + (found == 0 ? "none" : "only the numbers to \(found)")
                + "; wait if it is being restored, otherwise reset the group"
        case .withheld(let log, let number):
            "the store does not show number \(number) of \(log), which another member has read; wait; "
                + "if it does not come, put the store right, or reset the group"
        case .clockIsAhead(let log, let time):
            "the clock of another device is more than a month ahead of this one's: \(log) waits until "
                + "\(Self.text(time)); set the wrong clock right; if it is the other device's, remove that "
                + "member and invite the device again"
        case .rowTooLarge(let table):
            "a row of \"\(table)\" has more than 16 MiB and is not sent; keep large content in files, or "
                + "in several rows"
        case .otherEngine:
            "another engine has worked on this file for more than a minute; try again, or end that one"
        case .groupHasMoved:
            "the group goes on in another store; create the engine with that one"
        case .unsuitableTable(let table, let reason):
            "the table \"\(table)\" cannot be synced: \(reason)"
        case .captureWasOff(let table):
            "changes of the table \"\(table)\" may not have been captured: its triggers are not those "
                + "of its columns; install them after each migration, before rows change"
        case .store(let code, let message, let isTransient):
            "the store failed\(isTransient ? " for now" : ""): \(message) [\(code)]"
        }
    }

    private static func text(_ date: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
    }
}
