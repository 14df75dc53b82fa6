/// A sequence of objects in a group's store; errors name the one with a missing part.
public enum SyncLog: Sendable, Hashable {
    /// The chain of members.
    case chain
    /// The snapshots.
    case snapshots
    /// The batches of a member; its name is nil if this file does not know it.
    case member(id: String, name: String?)
}

extension SyncLog: CustomStringConvertible {
    /// The log, as part of a sentence.
    public var description: String {
        switch self {
        case .chain: "the chain of members"
        case .snapshots: "the snapshots"
        case .member(_, let name?): "the log of \"\(name)\""
        case .member(let id, nil): "the log of member \(id)"
        }
    }
}

extension SyncLog {
    init(_ member: MemberID) { self = .member(id: member.description, name: nil) }
}

extension SyncError {
    /// The error with the name of the member whose log it is about.
    func naming(_ members: [MemberID: String]) -> SyncError {
        func named(_ log: SyncLog) -> SyncLog {
            guard case .member(let id, nil) = log,
                let name = members.first(where: { $0.key.description == id })?.value, !name.isEmpty
            else { return log }
            return .member(id: id, name: name)
        }
        return switch self {
        case .withheld(let log, let number): .withheld(named(log), number: number)
        case .storeHasForgotten(let log, let have, let found):
            .storeHasForgotten(named(log), have: have, found: found)
        case .clockIsAhead(let log, let time): .clockIsAhead(named(log), until: time)
        default: self
        }
    }
}
