internal import Foundation
internal import SecureStorage

/// This member's log in the store, where strangers may have put something: only what the member
/// has signed shows that another copy of its file goes on with the log.
struct OwnLog {
    let store: any SyncObjectStore
    let keys: GroupKeys

    /// Whether the store has a batch of this number that the member has signed.
    ///
    /// - Throws: ``SyncError/newerFormat(_:)``; the store's errors.
    func hasSigned(_ number: UInt64) async throws -> Bool {
        let name = name(number)
        guard let bytes = try await store.read(name) else { return false }
        do {
            let batch = try SealedBatch(reading: bytes)
            let header = batch.header
            guard header.group == keys.group, header.member == keys.member,
                header.number == number
            else { return false }
            try batch.verify { keys.isValid($0, for: $1, by: header.member) }
            return true
        } catch is CBORError {
            return false
        } catch is NewerFormat {
            throw SyncError.newerFormat(name)
        }
    }

    /// Checks that what has the name of a batch is one that the member has signed.
    ///
    /// - Throws: ``SyncError/damaged(_:_:)``; the store's errors.
    func requireOwn(_ number: UInt64) async throws {
        guard try await !hasSigned(number) else { return }
        throw SyncError.damaged(
            name(number),
            "it has the name of this member's next batch, and another one has put "
                + "it there")
    }

    private func name(_ number: UInt64) -> String {
        SyncNames.batch(group: keys.group, member: keys.member, number: number)
    }
}
