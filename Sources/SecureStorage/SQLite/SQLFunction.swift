internal import Foundation

/// A caller's function, as the store remembers it: independent of any connection.
struct SQLFunction {
    enum Body {
        case scalar(([SQLiteValue]) throws -> (any SQLiteDatatypeBridgeable)?)
        /// The closure makes the state of a group.
        case aggregate(() -> any SQLAccumulator)
    }

    let signature: Signature
    let isDeterministic: Bool
    let isInnocuous: Bool
    let body: Body

    /// The identity of a function; SQLite ignores the case of ASCII letters.
    struct Signature: Hashable {
        let name: SQLName
        /// The number of arguments; nil for any number.
        let argumentCount: Int?

        /// - Throws: `.backingStoreError`, code `.misuse` for a name and 25 for a count that SQLite
        ///   refuses.
        init(_ name: String, _ argumentCount: Int?) throws {
            self.name = try SQLName(name, of: "function")
            self.argumentCount = argumentCount
            // The engine's own limit, which later versions have raised.
            guard argumentCount.map({ (0...127).contains($0) }) ?? true else {
                throw SecureStorageError.statementFailed(
                    .range, "a function accepts 0 to 127 arguments, or any number with nil")
            }
        }
    }
}

/// A caller's collation, as the store remembers it.
struct SQLCollation {
    let name: SQLName
    let compare: (String, String) -> ComparisonResult
}

/// The state of an aggregate function for one group of rows.
protocol SQLAccumulator: AnyObject {
    func step(_ arguments: [SQLiteValue]) throws
    func result() throws -> (any SQLiteDatatypeBridgeable)?
}

/// The accumulator for any type of state.
final class StateAccumulator<State>: SQLAccumulator {
    private var state: State
    private let stepBody: (inout State, [SQLiteValue]) throws -> Void
    private let finalBody: (State) throws -> (any SQLiteDatatypeBridgeable)?

    init(
        _ state: State, step: @escaping (inout State, [SQLiteValue]) throws -> Void,
        final: @escaping (State) throws -> (any SQLiteDatatypeBridgeable)?
    ) {
        self.state = state
        stepBody = step
        finalBody = final
    }

    func step(_ arguments: [SQLiteValue]) throws { try stepBody(&state, arguments) }

    func result() throws -> (any SQLiteDatatypeBridgeable)? { try finalBody(state) }
}

/// The name of a function or collation, compared as in SQLite: by bytes, ignoring the case of ASCII
/// letters.
struct SQLName: Hashable {
    let text: String
    private let folded: [UInt8]

    /// - Parameters:
    ///   - text: The name as the caller wrote it.
    ///   - kind: The kind of thing that is named, for the message.
    /// - Throws: `.backingStoreError` code `.misuse`.
    init(_ text: String, of kind: String) throws {
        // 255 bytes is the engine's limit, and only for functions.
        guard (1...255).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw SecureStorageError.statementFailed(
                .misuse, "the name of a \(kind) must be 1 to 255 bytes of UTF-8 without NUL")
        }
        self.text = text
        folded = text.utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
    }

    static func == (left: SQLName, right: SQLName) -> Bool { left.folded == right.folded }

    func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}
