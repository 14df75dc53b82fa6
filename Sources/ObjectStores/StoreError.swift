/// Why a store failed.
///
/// Descriptions contain names of objects and files, and a store engine's messages; never a key, a
/// password, or content.
public enum StoreError: Error, Sendable, Hashable {
    /// The engine has failed, or cannot be reached.
    ///
    /// - code: The engine's own: S3's `503 SlowDown`, a PostgreSQL SQLSTATE, the name of an
    ///   `errno`.
    /// - message: The engine's text.
    /// - isTransient: Whether the same call may succeed later, as after network, load or restart
    ///   problems.
    case failed(code: String, message: String, isTransient: Bool)

    /// The store does not create an object only once, as required; the text describes what
    /// happened.
    case cannotCreateOnly(String)

    /// A name breaks the rule of ``ObjectName``.
    case invalidName(String)

    /// The object of this name is larger than 64 MiB, so it is not one of this library's.
    case objectTooLarge(String)
}

extension StoreError {
    /// Whether the same call may succeed later.
    public var isTransient: Bool {
        if case .failed(_, _, let isTransient) = self { isTransient } else { false }
    }
}

extension StoreError: CustomStringConvertible {
    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .failed(let code, let message, let isTransient):
            "the store failed\(isTransient ? " for now" : ""): \(message) [\(code)]"
        case .cannotCreateOnly(let reason):
            "the store cannot be used: \(reason); use one that supports conditional creation"
        case .invalidName(let name):
            "\"\(name)\" cannot be the name of an object: names have the characters a to z, 0 to 9, -, _ "
                + "and ., with / between components, which do not begin with a dot"
        case .objectTooLarge(let name):
            "the object \"\(name)\" is larger than an object can be; remove it from the store"
        }
    }
}
