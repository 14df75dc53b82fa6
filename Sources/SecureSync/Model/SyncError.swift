public import Foundation

/// Why a store or a mirror failed.
///
/// Descriptions contain names of objects, files and devices, and a store engine's messages; never a
/// key, a password, or database content.
public enum SyncError: Error, Sendable, Hashable {
    /// A name breaks the rule of ``SyncObjectName``.
    case invalidName(String)

    /// The store does not create an object only once, as required; the text describes what
    /// happened.
    case storeCannotCreateOnly(String)

    /// The store has failed.
    ///
    /// - code: The engine's own: S3's `503 SlowDown`, a PostgreSQL SQLSTATE, the name of an
    ///   `errno`.
    /// - message: The engine's text.
    /// - isTransient: Whether the same call may succeed later, as after network, load or restart
    ///   problems.
    case store(code: String, message: String, isTransient: Bool)

    /// Another mirror writes under this name; this one has stopped.
    case otherMirror(String)

    /// The store has no complete mirror with this name, or none for that time.
    case noMirror(String)

    /// The newest state at that time is unknown: the mirror's machine had a wrong clock, and the
    /// state after `last` has the time `next`, which is in the future.
    case clockWasWrong(last: Date, next: Date)

    /// The mirror's objects for that time were stored with another database key, or with other key
    /// derivation settings; the text names an object.
    case wrongKey(String)

    /// The mirrored database has a different page size, in bytes, which the configuration must set.
    case otherPageSize(Int)

    /// An object differs from the original, or is missing; the second text describes the problem.
    case damaged(String, String)

    /// The object was written by a newer version of this library.
    case newerFormat(String)

    /// The file does not belong to a group, or this member was removed.
    case notAMember

    /// The file already belongs to a group.
    case alreadyMember

    /// The invitation does not let this file join; the text has the reason, and what to do.
    case invitationNotAccepted(String)

    /// The group's rules do not allow the change; the text is the rule.
    case notAllowed(String)

    /// The system lacks HPKE: sync needs iOS 17, macOS 14 or later.
    case needsNewerSystem

    /// The member with this name changed the group's key without giving it to this device, which
    /// can only read objects sealed before.
    case keyWithheld(by: String)

    /// The other members know different keys for this one than the device has, and it can no longer
    /// receive the group's keys. A copy of the device replaced them, or the device was restored
    /// together with its key store, or someone else uses its keys.
    case keysReplaced

    /// The store shows less of a log than before, only up to `found`: it was restored to an older
    /// state, or objects were removed.
    case storeHasForgotten(SyncLog, have: UInt64, found: UInt64)

    /// The store does not show an object of a log, although another member has read it.
    case withheld(SyncLog, number: UInt64)

    /// The clock of a member's device is more than a month ahead of this one's: its changes are
    /// applied at that time.
    case clockIsAhead(SyncLog, until: Date)

    /// A row of this table is larger than 16 MiB, the limit of sync.
    case rowTooLarge(String)

    /// Another engine, in this or another process, has been working on this file for more than a
    /// minute.
    case otherEngine

    /// The group has moved to another store, with which this engine was not created.
    case groupHasMoved

    /// The table cannot be synced; the second text has the reason, and what to change.
    case unsuitableTable(String, String)

    /// Changes of the table may have been lost: a trigger that captures them is missing, or does
    /// not match the table's columns.
    case captureWasOff(String)
}

extension SyncError {
    /// Whether the same call may succeed later.
    public var isTransient: Bool {
        if case .store(_, _, let isTransient) = self { return isTransient }
        return false
    }

    /// Whether it may be temporary, while this member continues with the rest: others or the store
    /// may repair it, the library may be updated, the other engine may end.
    var mayPass: Bool {
        switch self {
        case .withheld, .storeHasForgotten, .damaged, .newerFormat, .otherEngine, .keyWithheld,
            .clockIsAhead:
            true
        default: false
        }
    }

    /// Whether an object is damaged.
    var isDamaged: Bool {
        if case .damaged = self { return true }
        return false
    }

    /// Whether it is a finding about stored objects.
    var isFinding: Bool {
        if case .newerFormat = self { return true }
        return isDamaged
    }

    /// Whether a log is blocked because one of its objects cannot be read, or waits for another
    /// one.
    ///
    /// A log's writer can cause that, so the other logs continue.
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

    /// Whether the store does not show objects that it must have.
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
