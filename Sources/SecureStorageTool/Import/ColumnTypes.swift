/// The types of new columns that the user has chosen.
struct ColumnTypes {
    private static let known = ["INTEGER", "REAL", "TEXT", "NUMERIC", "BLOB"]

    private var byName: [(name: String, type: String)] = []
    /// The type of all columns that have none of their own.
    private(set) var others: String?

    init() {}

    /// Reads texts such as `name=TYPE,…`; a type alone is that of the other columns.
    init(_ texts: [String]) throws {
        for item in texts.flatMap({ $0.split(separator: ",") }) {
            let end = item.lastIndex(of: "=")
            let type = item[(end.map { item.index(after: $0) } ?? item.startIndex)...].uppercased()
            guard Self.known.contains(type) else {
                throw Failure.usage(
                    "\"\(item)\" has no type of a column",
                    hint: "use --types name=TYPE,… with one of "
                        + Self.known.joined(separator: ", "))
            }
            if let end { byName.append((String(item[..<end]), type)) } else { others = type }
        }
    }

    func type(of column: String) -> String? {
        byName.first { $0.name == column }?.type ?? others
    }

    /// - Throws: `Failure` for a name that is none of the columns that were made.
    func requireUse(in made: [String]) throws {
        guard let item = byName.first(where: { !made.contains($0.name) }) else { return }
        throw Failure.usage("--types: no column \"\(item.name)\" was to be made")
    }
}

/// What the fields of a CSV column have been so far, from which its type follows.
struct ColumnEvidence {
    private var hasInteger = false
    private var hasReal = false
    private var hasText = false
    /// Whether a real number cannot be exactly one of the integers.
    private var hasLongInteger = false

    mutating func take(_ field: UnsafeBufferPointer<UInt8>) {
        guard !hasText else { return }
        switch FieldNumber(field) {
        case .integer(let number):
            hasInteger = true
            if !FieldNumber.isExactReal(number) { hasLongInteger = true }
        case .real: hasReal = true
        case nil: hasText = true
        }
    }

    /// The type that loses nothing.
    var type: String {
        if hasText || (hasReal && hasLongInteger) { return "TEXT" }
        return hasReal ? "REAL" : hasInteger ? "INTEGER" : "TEXT"
    }
}

/// A CSV field that is a number, as JSON writes them, and that a column of numbers keeps exactly.
///
/// Not with a leading zero or plus, with more digits than the type holds, or with a blank.
enum FieldNumber: Equatable {
    case integer(Int64)
    case real(Double)

    /// The decimal digits that a real number keeps, whatever they are.
    private static let exactDigits = 15

    /// Whether the real number of this value is exactly the same.
    static func isExactReal(_ number: Int64) -> Bool { number.magnitude < 1_000_000_000_000_000 }

    init?(_ field: UnsafeBufferPointer<UInt8>) {
        let isNegative = field.first == UInt8(ascii: "-")
        var next = isNegative ? 1 : 0
        let start = next
        var magnitude: UInt64 = 0
        while next < field.count, let digit = Self.digit(field[next]) {
            // 19 digits fit.
            if next - start < 19 { magnitude = magnitude &* 10 &+ UInt64(digit) }
            next += 1
        }
        let count = next - start
        guard count > 0, count == 1 || field[start] != UInt8(ascii: "0") else { return nil }
        guard next < field.count else {
            guard count <= 19, !(isNegative && magnitude == 0),
                magnitude <= UInt64(Int64.max) + (isNegative ? 1 : 0)
            else { return nil }
            self = .integer(
                isNegative ? Int64(truncatingIfNeeded: 0 &- magnitude) : Int64(magnitude))
            return
        }
        guard let real = Self.real(field, from: next) else { return nil }
        self = .real(real)
    }

    /// Returns the number whose fraction or exponent begins at `next`.
    private static func real(_ field: UnsafeBufferPointer<UInt8>, from start: Int) -> Double? {
        var next = start
        func skipDigits() -> Bool {
            let first = next
            while next < field.count, digit(field[next]) != nil { next += 1 }
            return next > first
        }
        if field[next] == UInt8(ascii: ".") {
            next += 1
            guard skipDigits() else { return nil }
        }
        let mantissa = field[..<next].drop { digit($0) ?? 0 == 0 }
        guard mantissa.count(where: { digit($0) != nil }) <= exactDigits else { return nil }
        if next < field.count, field[next] | 0x20 == UInt8(ascii: "e") {
            next += 1
            if next < field.count, [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(field[next]) {
                next += 1
            }
            guard skipDigits() else { return nil }
        }
        guard next == field.count,
            let number = Double(String(decoding: field, as: UTF8.self)), number.isFinite,
            number != 0 || mantissa.allSatisfy({ digit($0) ?? 0 == 0 })
        else { return nil }
        return number
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : nil
    }
}
