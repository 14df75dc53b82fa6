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
            Also invitations that were not used yet. "last heard" is the time of a member's last batch that was applied \
            here, by its own clock.

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
        let isThisDevice: Bool
        let lastHeard: String?

        init(_ member: SyncMember) {
            (id, name, isThisDevice) = (member.id, member.name, member.isThisDevice)
            kind = "\(member.kind)"
            lastHeard = member.lastHeard.map { PointInTime.textInUTC($0) }
        }
    }

    func run() throws {
        let engine = try engine()
        let members = try currentMembers(of: engine)
        guard !json else { return try Output.standard.write(json: members.map(Answer.init)) }
        var table = TableWriter(to: .standard)
        table.begin(["name", "kind", "last heard", "id"])
        for member in members {
            try table.write([
                .text(member.isThisDevice ? "\(member.name) (this one)" : member.name),
                .text("\(member.kind)"),
                .text(member.lastHeard.map { PointInTime.text($0) } ?? ""), .text(member.id),
            ])
        }
        try table.end()
    }
}

/// `securestorage sync remove`: removes a member.
struct SyncRemove: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a member, and give the others a new key.",
        discussion: """
            It reads nothing that is written from now on, and nothing that it writes counts. What it has read, it keeps: \
            revoke its access to the store as well. Invitations are removed in the same way.

            EXAMPLES
              securestorage sync remove notes.db laptop --store /mnt/share --device-keys keys
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Argument(help: "The member's name, if only one has it, or its id.") var member: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func run() throws {
        let (engine, wanted) = (try engine(), member)
        let members = try currentMembers(of: engine)
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
        guard !member.isThisDevice else {
            throw Failure.usage("that is this file itself; use \"sync leave\"")
        }
        try waiting { try await engine.remove(member) }
        try acknowledge("removed \(Visible.text(member.name.isEmpty ? member.id : member.name))")
    }
}
