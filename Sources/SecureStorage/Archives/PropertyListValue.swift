internal import Foundation

/// A value of a binary property list, with its contents.
enum PropertyListValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    case real(Double)
    /// Seconds since the start of 2001.
    case date(Double)
    case data(Data)
    case string(String)
    /// The index of an object in a keyed archive's `$objects`.
    case uid(Int)
    case array([PropertyListValue])
    case set([PropertyListValue])
    case dictionary([ByteString: PropertyListValue])

    /// Whether the value is a non-empty container.
    var isContainer: Bool {
        switch self {
        case .array(let values), .set(let values): !values.isEmpty
        case .dictionary(let fields): !fields.isEmpty
        default: false
        }
    }
}
