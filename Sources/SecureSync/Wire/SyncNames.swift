package import Foundation
internal import SecureStoragePlatform

/// The names of a group's objects.
///
/// Numbers have 16 hexadecimal digits, so that the order of the names is that of the numbers.
package enum SyncNames {
    /// Entry `number` of the chain of members.
    package static func chainEntry(group: Data, number: UInt64) -> String {
        chain(group: group) + digits(number)
    }

    /// The beginning of the names of the chain's entries.
    package static func chain(group: Data) -> String { "\(hex(group))/m/" }

    /// Batch `number` of a member's log.
    package static func batch(group: Data, member: MemberID, number: UInt64) -> String {
        log(group: group, member: member) + digits(number)
    }

    /// The beginning of the names of a member's batches.
    package static func log(group: Data, member: MemberID) -> String {
        "\(hex(group))/d/\(member)/"
    }

    /// The mark that is set after something was stored.
    package static func mark(group: Data) -> String { "\(hex(group))/w" }

    /// Returns the number of a batch, or of a chain's entry, of the name that begins with `prefix`;
    /// nil for another name.
    package static func number(of name: String, after prefix: String) -> UInt64? {
        guard name.hasPrefix(prefix) else { return nil }
        let rest = name.dropFirst(prefix.count)
        guard rest.utf8.count == 16, let number = UInt64(rest, radix: 16), digits(number) == rest
        else { return nil }
        return number
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

    /// A name after all those of a group's objects, and before those of others.
    package static func end(ofGroup group: Data) -> String { "\(hex(group))0" }

    private static func hex(_ group: Data) -> String {
        group.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
