import Foundation
import SecureKeys

@testable import SecureSync

/// Everything that somebody gets out of the entries of a chain who has some members' private keys,
/// and tries each of them, and each secret that it has found, on everything that is sealed there.
struct OpenableKeys {
    private let group: Data
    private let keys: [MemberKeys]
    private var found: [Secret: GroupSecret] = [:]

    private struct Secret: Hashable {
        let use: GroupSecret.Use
        let number: UInt64
    }

    /// What is sealed with another secret.
    private struct Sealed {
        let secret: Secret
        let bytes: Data
    }

    /// Tries the keys of any members.
    init(_ entries: [Data], _ keys: [MemberKeys], group: Data) throws {
        (self.group, self.keys) = (group, keys)
        var sealed: [Sealed] = []
        var nodes: Set<KeyTree.Node> = []
        var epoch: UInt64 = 0
        for bytes in entries {
            switch try ChainEntry(reading: bytes).action {
            case .found(_, let new), .rotate(let new), .remove(_, let new, _),
                .succeed(_, _, let new):
                epoch = new.number
                nodes.formUnion(new.nodes.map(\.node))
                try take(new, &sealed)
            case .add(_, let own), .fork(_, let own, _), .update(_, let own, _):
                try unwrap(own.epoch, .epoch, epoch)
                for number in 1...epoch { try unwrap(own.secret, .tree, number) }
            case .leave: break
            }
        }
        var count = -1
        while found.count > count {
            count = found.count
            for secret in found.values where secret.use == .tree {
                for node in nodes {
                    for number in 1...epoch {
                        take(try secret.derived(node, number, group: group))
                    }
                }
            }
            for sealed in sealed where found[sealed.secret] == nil {
                for secret in found.values {
                    guard
                        let opened = GroupSecret(
                            sealed.secret.use, sealed.secret.number, opening: sealed.bytes,
                            with: secret)
                    else { continue }
                    take(opened)
                    break
                }
            }
        }
    }

    /// The epochs whose keys were found.
    var epochs: Set<UInt64> { Set(found.keys.filter { $0.use == .epoch }.map(\.number)) }

    /// Whether the secret of the admins that began with an epoch was found.
    func hasTreeSecret(ofEpoch number: UInt64) -> Bool {
        found[Secret(use: .tree, number: number)] != nil
    }

    private mutating func take(_ keys: ChainEntry.EpochKeys, _ sealed: inout [Sealed]) throws {
        let epoch = Secret(use: .epoch, number: keys.number)
        sealed.append(Sealed(secret: epoch, bytes: keys.sealedForAdmins))
        sealed.append(Sealed(secret: epoch, bytes: keys.sealedForWriters))
        sealed.append(
            Sealed(
                secret: Secret(use: .epoch, number: keys.previousNumber), bytes: keys.previous))
        for bytes in keys.secret?.wrapped.values ?? [:].values {
            try unwrap(bytes, .tree, keys.number)
        }
        for new in keys.nodes {
            for bytes in new.wrapped {
                try unwrap(bytes, .node(new.node), keys.number)
                sealed.append(
                    Sealed(
                        secret: Secret(use: .node(new.node), number: keys.number), bytes: bytes))
            }
        }
    }

    private mutating func unwrap(
        _ bytes: Data, _ use: GroupSecret.Use, _ number: UInt64
    ) throws {
        for keys in keys {
            if let secret = try GroupSecret(use, number, unwrapping: bytes, keys, group: group) {
                take(secret)
            }
        }
    }

    private mutating func take(_ secret: GroupSecret) {
        found[Secret(use: secret.use, number: secret.number)] = secret
    }
}
