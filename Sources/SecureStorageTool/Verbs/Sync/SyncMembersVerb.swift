internal import ArgumentParser
internal import Foundation
internal import SecureStorage
internal import SecureSync

/// `securestorage sync members`: lists who belongs to the group.
struct SyncMembersVerb: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "members",
        abstract: "List the members of the group.",
        discussion: """
            Also invitations that were not used yet. "came from" is the member that has invited it, or, with "copy of", \
            whose file now continues as this one. "last heard" is the time of a member's last batch that was applied \
            here, by its own clock; "old key" means that it was written with an older key than the group's, more than a \
            day after the change: the store may hide that from it. The security code is the same on devices that have \
            read the same members. Compare it after a device has joined with an old code.

            EXAMPLES
              securestorage sync members notes.db --store /mnt/share --device-keys keys
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @Flag(help: "Print an array of objects.") var json = false
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    private struct Answer: Encodable {
        let id: String
        let name: String
        let kind: String
        let role: String
        let isFormer: Bool
        let isThisDevice: Bool
        let addedBy: String?
        let addedAt: String
        let forkOf: String?
        let expires: String?
        let lastHeard: String?
        let unconfirmedBatches: Int?
        let missesNewKey: Bool

        init(_ member: SyncMember) {
            (id, name, isThisDevice) = (member.id, member.name, member.isThisDevice)
            (kind, role, isFormer) = ("\(member.kind)", "\(member.role)", member.isFormer)
            (addedBy, forkOf) = (member.addedBy, member.forkOf)
            addedAt = PointInTime.textInUTC(member.addedAt)
            expires = member.expires.map { PointInTime.textInUTC($0) }
            lastHeard = member.lastHeard.map { PointInTime.textInUTC($0) }
            (unconfirmedBatches, missesNewKey) = (member.unconfirmedBatches, member.missesNewKey)
        }
    }

    func run() throws {
        let engine = try engine()
        let members = try currentMembers(of: engine) + waiting { try await engine.formerMembers() }
        guard !json else { return try Output.standard.write(json: members.map(Answer.init)) }
        var table = TableWriter(to: .standard)
        table.begin(["name", "kind", "role", "came from", "last heard", "id"])
        for member in members {
            try table.write([
                .text(member.isThisDevice ? "\(member.name) (this one)" : member.name),
                .text(member.isFormer ? "former \(member.kind)" : "\(member.kind)"),
                .text("\(member.role)"),
                .text(origin(of: member, among: members)),
                .text(heard(member)), .text(member.id),
            ])
        }
        try table.end()
        try Output.standard.flush()
        let code = try waiting { try await engine.securityCode() }
        try acknowledge("the security code is \(code)", on: .errors)
    }

    private func heard(_ member: SyncMember) -> String {
        let time = member.lastHeard.map { PointInTime.text($0) } ?? ""
        return member.missesNewKey ? "\(time), old key" : time
    }

    private func origin(of member: SyncMember, among members: [SyncMember]) -> String {
        guard let origin = member.addedBy else { return "" }
        let name = members.first { $0.id == origin }?.name ?? "one that is gone"
        return member.forkOf == nil ? name : "copy of \(name)"
    }
}

/// `securestorage sync remove`: removes a member.
struct SyncRemove: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a member, and give the others a new key.",
        discussion: """
            It reads nothing that is written from now on, and nothing that it writes counts. It keeps what it read before: \
            revoke its access to the store as well. Members that its file continued as, since it was copied or restored \
            from a backup, go with it, unless they are kept. Invitations are removed in the same way, \
            and former members again by their id.

            EXAMPLES
              securestorage sync remove notes.db laptop --keep 5f3c8e0a91d24b67a0c4d2e8f1b39a56 --store /mnt/share --device-keys keys
              securestorage sync remove notes.db laptop --store /mnt/share --device-keys keys
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Argument(help: "The member's name, if only one has it, or its id.") var member: String
    @Option(
        name: .customLong("keep"),
        help: ArgumentHelp("A copy of its file that stays, by its id.", valueName: "id"))
    var kept: [String] = []
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func run() throws {
        let engine = try engine()
        let members = try currentMembers(of: engine)
        let former = try waiting { try await engine.formerMembers() }
        let member = try find(member, in: members + former.filter { $0.id == self.member })
        let kept = try kept.map { try find($0, in: members) }
        guard !member.isThisDevice else {
            throw Failure.usage("that is this file itself; use \"sync leave\"")
        }
        let gone = try waiting { try await engine.remove(member, keeping: kept) }
        for member in gone {
            let name = Visible.text(member.name.isEmpty ? member.id : member.name)
            try acknowledge("removed \(name)\(member.forkOf == nil ? "" : ", a copy")")
        }
    }

    private func find(_ wanted: String, in members: [SyncMember]) throws -> SyncMember {
        let found = members.filter { $0.id == wanted || (!wanted.isEmpty && $0.name == wanted) }
        guard let member = found.first else {
            throw Failure(
                "no member is \"\(wanted)\"", hint: "\"sync members\" lists them", .notFound)
        }
        guard found.count == 1 else {
            throw Failure(
                "\(found.count) members are \"\(wanted)\"",
                hint: "use the id, which \"sync members\" shows", .notFound)
        }
        return member
    }
}
