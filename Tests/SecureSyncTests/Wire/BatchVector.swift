import Foundation
import SecureKeys
import SecureStorage
import SecureSync

/// An item of `Vectors/batches.json`: bytes in hexadecimal.
struct BatchVector: Codable {
    var group: String
    var member: String
    var number: UInt64
    var epoch: UInt64
    var previous: String
    var chain: Position
    var time: UInt64
    var schema: UInt64
    var isLast: Bool
    var hasLowerBound: Bool
    var positions: [KnownPosition]
    var changes: [Change]
    /// The body's CBOR.
    var encoded: String
    // Not in what `batches.py read` prints.
    private var key: String?
    private var signerKey: String?
    private var bytes: String?

    private enum CodingKeys: String, CodingKey {
        case group, member, number, epoch, previous, chain, time, schema, isLast, hasLowerBound,
            positions,
            changes, encoded
        case key
        case signerKey = "signer"
        case bytes = "batch"
    }

    var signer: String {
        get { signerKey ?? "" }
        set { signerKey = newValue }
    }

    var batch: String {
        get { bytes ?? "" }
        set { bytes = newValue }
    }

    struct Change: Codable {
        var table: String
        var key: [[String]]
        var alive: Bool
        var timestamp: Time
        var known: Time?
        var columnGroups: [ColumnGroup]
    }

    struct ColumnGroup: Codable {
        var columns: [String]
        var values: [[String]]
        var timestamp: Time
        var known: Time?
    }

    /// Milliseconds, counter and member.
    struct Time: Codable {
        var milliseconds: UInt64
        var counter: UInt64
        var member: String

        init(from decoder: any Decoder) throws {
            var items = try decoder.unkeyedContainer()
            milliseconds = try items.decode(UInt64.self)
            counter = try items.decode(UInt64.self)
            member = try items.decode(String.self)
        }

        func encode(to encoder: any Encoder) throws {
            var items = encoder.unkeyedContainer()
            try items.encode(milliseconds)
            try items.encode(counter)
            try items.encode(member)
        }

        func timestamp() throws -> Timestamp {
            Timestamp(
                time: Timestamp.time(milliseconds: milliseconds) + counter,
                member: try Hex.member(member))
        }
    }

    /// Number and hash of an entry of the chain.
    struct Position: Codable {
        var number: UInt64
        var hash: String

        init(from decoder: any Decoder) throws {
            var items = try decoder.unkeyedContainer()
            number = try items.decode(UInt64.self)
            hash = try items.decode(String.self)
        }

        func encode(to encoder: any Encoder) throws {
            var items = encoder.unkeyedContainer()
            try items.encode(number)
            try items.encode(hash)
        }

        func position() throws -> ChainPosition {
            ChainPosition(number: number, hash: Data(try Hex.bytes(hash)))
        }
    }

    /// Member, number and hash.
    struct KnownPosition: Codable {
        var member: String
        var number: UInt64
        var hash: String

        init(from decoder: any Decoder) throws {
            var items = try decoder.unkeyedContainer()
            member = try items.decode(String.self)
            number = try items.decode(UInt64.self)
            hash = try items.decode(String.self)
        }

        func encode(to encoder: any Encoder) throws {
            var items = encoder.unkeyedContainer()
            try items.encode(member)
            try items.encode(number)
            try items.encode(hash)
        }
    }
}

extension BatchVector {
    func header() throws -> BatchHeader {
        BatchHeader(
            group: Data(try Hex.bytes(group)), member: try Hex.member(member), number: number,
            epoch: epoch, previous: Data(try Hex.bytes(previous)), chain: try chain.position())
    }

    func dataKey() throws -> DataEncryptionKey {
        try DataEncryptionKey(
            name: "epoch \(epoch)", bytes: SecretBytes(copying: Hex.bytes(key ?? "")))
    }

    func body() throws -> BatchBody {
        BatchBody(
            time: time, schema: schema,
            positions: try positions.map {
                BatchPosition(
                    member: try Hex.member($0.member), number: $0.number,
                    hash: Data(try Hex.bytes($0.hash)))
            }, changes: try changes.map { try $0.change() }, isLast: isLast,
            hasLowerBound: hasLowerBound)
    }
}

extension BatchVector.Change {
    func change() throws -> RowChange {
        RowChange(
            table: table, key: try key.map(Hex.value),
            incarnation: .init(
                timestamp: try timestamp.timestamp(), isAlive: alive, known: try known?.timestamp()),
            columnGroups: try columnGroups.map {
                .init(
                    columns: $0.columns, values: try $0.values.map(Hex.value),
                    timestamp: try $0.timestamp.timestamp(), known: try $0.known?.timestamp())
            })
    }
}

enum Hex {
    private struct Unreadable: Error {}

    static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    static func bytes(_ text: String) throws -> [UInt8] {
        let digits = Array(text.utf8)
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            let pair = String(decoding: digits[index..<min(index + 2, digits.count)], as: UTF8.self)
            guard pair.utf8.count == 2, let byte = UInt8(pair, radix: 16) else {
                throw Unreadable()
            }
            return byte
        }
    }

    static func member(_ text: String) throws -> MemberID {
        guard let member = MemberID(try bytes(text)) else { throw Unreadable() }
        return member
    }

    /// Returns a value that is given as its type and its content.
    static func value(_ item: [String]) throws -> SQLiteValue {
        guard item.count == 2 else { throw Unreadable() }
        switch item[0] {
        case "null": return .null
        case "integer":
            guard let number = Int64(item[1]) else { throw Unreadable() }
            return .integer(number)
        case "real":
            let bits = try bytes(item[1]).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return .real(Double(bitPattern: bits))
        case "text": return .text(item[1])
        case "blob": return .blob(Data(try bytes(item[1])))
        default: throw Unreadable()
        }
    }
}
