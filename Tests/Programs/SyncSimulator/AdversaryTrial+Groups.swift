import Foundation
import SecureStorage
import SecureSync

/// Lies about a whole group; each throws if they harm a member.
extension AdversaryTrial {
    /// Shows Anna an object of another group as the next one of its kind.
    ///
    /// - Throws: ``Broken``.
    static func copy(
        _ name: String, of stranger: AdversaryGroup, into group: AdversaryGroup
    ) async throws {
        guard let place = try await place(of: name, in: group) else { return }
        var trial = try AdversaryTrial(group, group.anna)
        let rows = try trial.victim.rows()
        try await trial.lie([place: stranger.objects.read(name)], "copied")
        guard try trial.victim.rows() == rows else {
            throw Broken(description: "an object of another group has changed rows")
        }
        try await trial.heal(with: [group.ben, group.dora])
    }

    /// The name after the last one of the same kind; nil for a part of a snapshot, and if the group
    /// has none.
    private static func place(of name: String, in group: AdversaryGroup) async throws -> String? {
        let path = name.dropFirst(32)
        // Anna's own log is no longer hers if it continues without her: she would be a copy.
        let kind =
            try await path.hasPrefix("/d/")
            ? "/d/\(AdversaryGroup.id(of: group.ben))" : path.prefix(3)
        guard !path.hasPrefix("/p/"),
            let last = group.ownNames.filter({ $0.dropFirst(32).hasPrefix(kind) }).max()
        else { return nil }
        // A slash comes before the last two digits.
        guard let number = UInt64(last.suffix(17).replacing("/", with: ""), radix: 16) else {
            throw Broken(description: "\(last) does not end in a number")
        }
        let next = String(number + 1, radix: 16)
        let digits = String(repeating: "0", count: 16 - next.count) + next
        return "\(last.dropLast(17))\(digits.prefix(14))/\(digits.suffix(2))"
    }

    /// Shows Anna the store as it was when it had that many objects.
    ///
    /// She knows better, and what she writes meanwhile is not lost.
    ///
    /// - Throws: ``Broken``.
    static func goBack(_ group: AdversaryGroup, to count: Int) async throws {
        var trial = try AdversaryTrial(group, group.anna)
        let before = try trial.victim.rows()
        let hidden = Dictionary(
            uniqueKeysWithValues: group.ownNames[count...].map { ($0, Data?.none) })
        guard try await trial.lie(hidden, "older") != nil else {
            throw Broken(description: "an older store is accepted")
        }
        func expect(_ rows: [String], _ what: String) throws {
            guard try trial.victim.rows() == rows else { throw Broken(description: what) }
        }
        try expect(before, "an older store has changed rows")
        try await trial.victim.queue.write {
            try $0.executeStatements("UPDATE pair SET token = 3 WHERE id LIKE 'bf_'")
        }
        let edited = try trial.victim.rows()
        try trial.victim.killAndReopen()
        do {
            try await trial.victim.engine.syncOnce()
            throw Broken(description: "an older store is accepted after a restart")
        } catch is SyncError {}
        try expect(edited, "an older store has changed edited rows")
        try await trial.heal(with: [group.ben])
        try expect(edited, "what was written beside an older store is lost")
    }
}
