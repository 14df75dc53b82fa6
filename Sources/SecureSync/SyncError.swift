/// Why a store or a mirror failed.
///
/// Descriptions contain names of objects and files, and messages of an engine; never a key, a
/// password, or content of a database.
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

    /// An object is not as it was written, or is missing; the second text says how that shows.
    case damaged(String, String)

    /// A newer version of this library has written the object.
    case newerFormat(String)
}

extension SyncError {
    /// Whether the same call may succeed later.
    public var isTransient: Bool {
        if case .store(_, _, let isTransient) = self { return isTransient }
        return false
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
        case .damaged(let name, let reason):
            "the object \"\(name)\" is damaged: \(reason); check the key; if it is right, restore an "
                + "earlier point in time"
        case .newerFormat(let name):
            "the object \"\(name)\" was written by a newer version of this library; update it"
        case .store(let code, let message, let isTransient):
            "the store failed\(isTransient ? " for now" : ""): \(message) [\(code)]"
        }
    }
}
