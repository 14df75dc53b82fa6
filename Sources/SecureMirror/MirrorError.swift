public import Foundation
public import ObjectStores

/// Why a mirror, or restoring one, failed.
///
/// Descriptions contain names of objects and mirrors, and a store engine's messages; never a key, a
/// password, or database content.
public enum MirrorError: Error, Sendable, Hashable {
    /// The store failed.
    case store(StoreError)

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
}

extension MirrorError {
    /// Whether the same call may succeed later.
    public var isTransient: Bool {
        if case .store(let error) = self { error.isTransient } else { false }
    }

    /// Whether an object is damaged.
    var isDamaged: Bool {
        if case .damaged = self { true } else { false }
    }

    /// Whether it is a finding about stored objects.
    var isFinding: Bool {
        if case .newerFormat = self { return true }
        return isDamaged
    }

    init(_ error: StoreError) {
        switch error {
        case .objectTooLarge(let name):
            self = .damaged(name, "it is larger than an object can be")
        case .failed, .cannotCreateOnly, .invalidName: self = .store(error)
        }
    }
}

extension MirrorError: CustomStringConvertible {
    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .store(let error): error.description
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
        }
    }

    private static func text(_ date: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
    }
}
