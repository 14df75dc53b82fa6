package import Foundation
internal import ObjectStores

/// The names of a group's objects.
///
/// Numbers have 16 hexadecimal digits, so names sort like numbers, with a `/` before the last two,
/// so that no folder of a directory store has more than 256 entries.
package enum SyncNames {
    /// The beginning of the names of all objects of a group.
    package static func all(group: Data) -> String { "\(hex(group))/" }

    /// Entry `number` of the chain of members.
    package static func chainEntry(group: Data, number: UInt64) -> String {
        chain(group: group) + digits(number)
    }

    /// The beginning of the names of the chain's entries.
    package static func chain(group: Data) -> String { "\(hex(group))/m/" }

    /// The object that names the group's successor; of several, the first valid one counts.
    ///
    /// Listed after the entries of the chain.
    package static func successor(group: Data, number: UInt64) -> String {
        successors(group: group) + digits(number)
    }

    /// The beginning of the names of a group's successors.
    package static func successors(group: Data) -> String { chain(group: group) + "n" }

    /// Batch `number` of a member's log.
    ///
    /// - Parameters:
    ///   - group: The group's 16 bytes.
    ///   - member: The log's member.
    ///   - number: From 1.
    ///   - attempt: How many names of the number strangers have taken.
    /// - Returns: The object's name.
    package static func batch(
        group: Data, member: MemberID, number: UInt64, attempt: UInt64 = 0
    ) -> String {
        log(group: group, member: member) + digits(number) + (attempt == 0 ? "" : ".\(attempt)")
    }

    /// Returns the number and the attempt of a batch name in the log that begins with `prefix`; nil
    /// for another name.
    package static func batch(
        of name: String, after prefix: String
    ) -> (number: UInt64, attempt: UInt64)? {
        let parts = name.split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let number = number(of: String(parts[0]), after: prefix) else { return nil }
        guard parts.count == 2 else { return (number, 0) }
        guard let attempt = UInt64(parts[1]), attempt > 0, parts[1] == "\(attempt)" else {
            return nil
        }
        return (number, attempt)
    }

    /// The beginning of the names of a member's batches.
    package static func log(group: Data, member: MemberID) -> String {
        "\(hex(group))/d/\(member)/"
    }

    /// The manifest of snapshot `number`.
    package static func snapshot(group: Data, number: UInt64) -> String {
        snapshots(group: group) + digits(number)
    }

    /// Part `part`, from 1, of a snapshot's rows.
    ///
    /// - Parameters:
    ///   - group: The group's 16 bytes.
    ///   - rows: 16 random bytes, so that members that write the same snapshot do not collide.
    ///   - part: From 1.
    /// - Returns: The object's name.
    package static func snapshotPart(group: Data, rows: Data, part: UInt64) -> String {
        snapshotParts(group: group, rows: rows) + digits(part)
    }

    /// The beginning of the names of a snapshot's parts.
    package static func snapshotParts(group: Data, rows: Data) -> String {
        "\(hex(group))/p/\(hex(rows))/"
    }

    /// The beginning of the names of the group's snapshots.
    package static func snapshots(group: Data) -> String { "\(hex(group))/s/" }

    /// The mark that is set after storing an object.
    package static func mark(group: Data) -> String { "\(hex(group))/w" }

    /// Returns the number in a name that begins with `prefix`, of a batch or a chain entry; nil for
    /// another name, and for 0, which no object has.
    package static func number(of name: String, after prefix: String) -> UInt64? {
        // By bytes: a store's name may have letters that combine with the prefix's last one.
        guard name.utf8.starts(with: prefix.utf8) else { return nil }
        let rest = name.utf8.dropFirst(prefix.utf8.count)
        guard rest.count == 17,
            let number = UInt64(Substring(rest).filter { $0 != "/" }, radix: 16), isValid(number),
            digits(number).utf8.elementsEqual(rest)
        else { return nil }
        return number
    }

    /// Whether the numbers before and after it can exist, even in a database: stores are not
    /// trusted.
    package static func isValid(_ number: UInt64) -> Bool {
        (1...UInt64(Int64.max)).contains(number)
    }

    /// The group of an object's name; nil for a name that is not of a group.
    package static func group(of name: String) -> Data? {
        let digits = name.utf8.prefix { $0 != UInt8(ascii: "/") }
        guard digits.count == 32, digits.count < name.utf8.count else { return nil }
        var bytes = Data()
        var rest = Substring(digits)
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return hex(bytes) == Substring(digits) ? bytes : nil
    }

    /// A name after all of a group's objects, and before those of other groups.
    package static func end(ofGroup group: Data) -> String { "\(hex(group))0" }

    private static func hex(_ group: Data) -> String {
        group.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        let all = String(repeating: "0", count: 16 - digits.count) + digits
        return "\(all.prefix(14))/\(all.suffix(2))"
    }
}

extension ObjectStore {
    /// Returns the listed numbers of a chain, a log or the snapshots, in order.
    func listNumbers(_ prefix: String, after: String? = nil) async throws -> [UInt64] {
        try await listAll(prefix, after: after).compactMap {
            SyncNames.number(of: $0.name, after: prefix)
        }
    }

    /// Notifies members that wait for new objects.
    func setMark(ofGroup group: Data) async throws {
        try await mark(SyncNames.mark(group: group), Data(UUID().uuidString.lowercased().utf8))
    }
}
