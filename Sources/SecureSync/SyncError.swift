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
        case .store(let code, let message, let isTransient):
            "the store failed\(isTransient ? " for now" : ""): \(message) [\(code)]"
        }
    }
}
