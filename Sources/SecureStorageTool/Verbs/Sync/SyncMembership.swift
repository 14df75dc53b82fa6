internal import ArgumentParser
internal import Foundation
internal import SecureKeys
internal import SecureStorage
internal import SecureSync

/// `securestorage sync create`: founds a group.
struct SyncCreate: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Found a group with the rows of a file.",
        discussion: """
            The tables of the file are synced from now on: triggers note what any program writes to them, and the first \
            snapshot of their rows is stored.

            EXAMPLES
              securestorage sync create notes.db --table note --name server --store /mnt/share --device-keys keys
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @Option(help: Sync.nameHelp) var name: String
    @Option(name: .customLong("table"), help: Sync.tableHelp) var tables: [String] = []
    @Option(name: .customLong("key-value-store"), help: Sync.keyValueStoreHelp)
    var keyValueStores: [String] = []
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func run() throws {
        let engine = try engine(tables: tables, keyValueStores: keyValueStores)
        let name = name
        try waiting { try await engine.createGroup(deviceName: name) }
        try acknowledge("founded a group; \"sync invite\" lets others join")
    }
}

/// `securestorage sync invite`: prints a code with which a device can join.
struct SyncInvite: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Print a code with which another device can join.",
        discussion: """
            The code is a secret: whoever has it can join and read everything. It can be used once, for a week, and the \
            device is a writer: it reads and writes rows. With --role reader it only reads them, and SQLite refuses what \
            its file's synced tables are told to write. One for recovery stays valid until it is removed from the \
            members, for a sheet of paper, and its devices are admins: they can also invite, remove, and reset \
            the group.

            EXAMPLES
              securestorage sync invite notes.db --store /mnt/share --device-keys keys
              securestorage sync invite notes.db --role admin --store /mnt/share --device-keys keys
              securestorage sync invite notes.db --recovery --store /mnt/share --device-keys keys
            """)

    enum Role: String, ExpressibleByArgument, CaseIterable { case admin, writer, reader }

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @Flag(help: "A code that stays valid.") var recovery = false
    @Option(help: "What the device may do.") var role: Role?
    @Option(help: ArgumentHelp("How many days the code is valid.", valueName: "number"))
    var days: Int?
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func validate() throws {
        guard (1...36_500).contains(days ?? 1) else {
            throw ValidationError("--days is a number from 1 to 36500")
        }
    }

    func run() throws {
        let (engine, kind) = (try engine(), recovery ? SyncInvitation.Kind.recovery : .once)
        let role = role.map { role -> SyncMember.Role in
            switch role {
            case .admin: .admin
            case .writer: .writer
            case .reader: .reader
            }
        }
        let end = days.map { Date() + Double($0) * 86_400 }
        let invitation = try waiting {
            try await engine.invite(kind, role: role, expires: end)
        }
        try Output.standard.write(line: invitation.code)
    }
}

/// `securestorage sync join`: joins the group of an invitation.
struct SyncJoin: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join a group with a code.",
        discussion: """
            The code is asked for on the terminal, or read from a file or a descriptor. The file needs the tables of the \
            group, or those of them that its app has. Its own rows become the group's, unless the group has rows with \
            the same keys: "sync conflicts" lists those. With --local-rows discard they are removed.

            EXAMPLES
              securestorage sync join copy.db --table note --name laptop --store /mnt/share --device-keys keys
              securestorage sync join copy.db --code-file code --name laptop --store /mnt/share --device-keys keys
            """)

    enum LocalRows: String, ExpressibleByArgument, CaseIterable { case keep, discard }

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @Option(help: Sync.nameHelp) var name: String
    @Option(name: .customLong("table"), help: Sync.tableHelp) var tables: [String] = []
    @Option(name: .customLong("key-value-store"), help: Sync.keyValueStoreHelp)
    var keyValueStores: [String] = []
    @Option(help: "What becomes of the rows of the file's tables.") var localRows = LocalRows.keep
    @Option(help: ArgumentHelp("Read the code from a descriptor.", valueName: "number"))
    var codeFd: Int32?
    @Option(
        help: ArgumentHelp(
            "Read the code from a file that only you can access.", valueName: "file"),
        completion: .file())
    var codeFile: String?
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func validate() throws {
        guard codeFd == nil || codeFile == nil else {
            throw ValidationError("use only one of --code-fd and --code-file")
        }
    }

    func run() throws {
        let engine = try engine(tables: tables, keyValueStores: keyValueStores)
        let invitation = try invitation()
        let (name, rows) = (name, localRows == .keep ? SyncLocalRows.keep : .discard)
        let report = try waiting {
            try await engine.join(invitation, deviceName: name, localRows: rows)
            return try await engine.syncOnce()
        }
        try acknowledge("joined; \(SyncAnswer(report).line)")
    }

    private func invitation() throws -> SyncInvitation {
        let source: KeySource =
            codeFd.map { .descriptor($0) } ?? codeFile.map { .file($0, isInsecure: false) }
            ?? .terminal
        let bytes = try source.read(asking: "code of the invitation: ")
        return try SyncInvitation(
            code: bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }
}

/// `securestorage sync leave`: ends a file's membership.
struct SyncLeave: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "End a file's membership; its rows stay.",
        discussion: """
            What was written last is sent before.

            EXAMPLES
              securestorage sync leave notes.db --store /mnt/share --device-keys keys
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func run() throws {
        let engine = try engine()
        try waiting { try await engine.leave() }
        try acknowledge("left the group")
    }
}

/// `securestorage sync reset`: rebuilds a group from its members' files.
struct SyncReset: SyncVerb {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Rebuild the group after its store has lost objects.",
        discussion: """
            Stores the rows of this file as a new group, which follows the old one. The other members join it by \
            themselves, and add what their files have. Codes for recovery stay valid, others do not. If another member \
            was faster, this file joins that member's new group.

            A store that shows nothing of the group is hardly one that has lost everything: it is not mounted, or another \
            one. If it is the one that all members use, and was emptied, add --force. Otherwise the group is in two halves \
            until this verb runs once more with the right store.

            EXAMPLES
              securestorage sync reset notes.db --store /mnt/share --device-keys keys
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @Option(help: MirrorStoreOptions.help, completion: .directory) var store: String
    @Option(help: Sync.deviceKeysHelp, completion: .directory) var deviceKeys: String
    @Flag(help: "Also if the store shows nothing of the group.") var force = false
    @OptionGroup(title: MirrorStoreOptions.title) var storeOptions: MirrorStoreOptions
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    func run() throws {
        let engine = try engine()
        try waiting { [force] in try await engine.reset(force: force) }
        try acknowledge("the group was reset")
    }
}
