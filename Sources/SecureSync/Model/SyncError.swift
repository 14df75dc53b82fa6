public import Foundation
public import ObjectStores

/// Why sync failed.
///
/// Descriptions contain names of objects, files and devices, and a store engine's messages; never a
/// key, a password, or database content.
public enum SyncError: Error, Sendable, Hashable {
    /// The store failed.
    case store(StoreError)

    /// The group or the store changed during the call, or is not complete yet; the text says what.
    /// The same call may succeed later.
    case tryAgain(String)

    /// The store shows nothing of the group. It is more likely not mounted, or another one, than
    /// emptied; the text is its location.
    case groupNotFound(in: String)

    /// The group was reset by a member that did not know this one, and no other member has added it
    /// yet; wait, or join again.
    case notAddedYet

    /// The lock by which engines of several processes take turns cannot be used; the text has the
    /// path and the reason.
    case lockFailed(String)

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
        switch self {
        case .store(let error): error.isTransient
        case .tryAgain, .groupNotFound, .notAddedYet: true
        default: false
        }
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
        if case .damaged = self { true } else { false }
    }

    /// A store whose failures are errors of sync.
    static func translating(_ store: any ObjectStore) -> TranslatingStore {
        store as? TranslatingStore ?? TranslatingStore(store) { SyncError($0) }
    }

    init(_ error: StoreError) {
        switch error {
        case .objectTooLarge(let name):
            self = .damaged(name, "it is larger than an object can be")
        case .failed, .cannotCreateOnly, .invalidName: self = .store(error)
        }
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
        case .store(let error): error.description
        case .tryAgain(let reason): "\(reason); try again"
        case .groupNotFound(let place):
            "\(place) shows nothing of the group: it is not mounted, or not the place that the group "
                + "uses; if it is, and was emptied, reset the group by force"
        case .notAddedYet:
            "the member that reset the group did not know this one, and no other member has added it "
                + "yet; wait, or join again"
        case .lockFailed(let reason): reason
        case .damaged(let name, let reason):
            "the object \"\(name)\" is damaged: \(reason); verify() lists all damage; if the store cannot "
                + "be put right, reset the group"
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
            "the group continues in another store; create the engine with that one"
        case .unsuitableTable(let table, let reason):
            "the table \"\(table)\" cannot be synced: \(reason)"
        case .captureWasOff(let table):
            "changes of the table \"\(table)\" may not have been captured: its triggers are not those "
                + "of its columns; install them after each migration, before rows change"
        }
    }

    private static func text(_ date: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
    }
}
