/// What the service itself refuses; the library's errors are passed on as they are.
enum ServiceError: Error, Equatable {
    /// An argument or a variable cannot be used.
    case configuration(String)
    /// The key cannot be used.
    case key(String)
    /// A note of this id exists, with another text.
    case otherText(id: String)
}

extension ServiceError: CustomStringConvertible {
    /// What is wrong, and what to do; never a key, a connection string or a note.
    var description: String {
        switch self {
        case .configuration(let reason): reason
        case .key(let reason): "cannot use the key: \(reason)"
        case .otherText(let id): "a note with the id \(id) exists, and its text differs"
        }
    }
}
