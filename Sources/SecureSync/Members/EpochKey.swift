internal import Foundation
internal import SecureKeys

/// The key that seals all objects of one epoch: from one removal or rotation to the next.
struct EpochKey: Sendable {
    let secret: GroupSecret

    var number: UInt64 { secret.number }
    var key: DataEncryptionKey { secret.key }

    init(_ secret: GroupSecret) { self.secret = secret }

    static func random(_ number: UInt64) throws -> EpochKey {
        EpochKey(try GroupSecret.random(.epoch, number))
    }

    // MARK: - Device names

    func sealedName(_ name: String, of member: MemberID) throws -> Data {
        try key.seal(
            Data(Padding.padded(Array(name.utf8))),
            table: "SecureStorage sync member 1", column: "name", row: .text("\(member)"))
    }

    /// A member of another group, with its name sealed for this one.
    func naming(_ member: ChainEntry.Member, _ name: String) throws -> ChainEntry.Member {
        var member = member
        (member.sealedName, member.nameEpoch) = (try sealedName(name, of: member.id), number)
        return member
    }

    /// nil if the bytes are not from `sealedName`.
    func name(_ sealed: Data, of member: MemberID) -> String? {
        guard
            let padded = try? key.open(
                sealed, table: "SecureStorage sync member 1", column: "name",
                row: .text("\(member)")),
            let bytes = Padding.removed(from: [UInt8](padded))
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
