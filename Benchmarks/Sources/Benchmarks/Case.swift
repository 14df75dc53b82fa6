/// One piece of work, and who does it.
struct Case: Sendable {
    var name: String
    var template = Template.rows
    /// Whether each run needs a fresh copy of the file.
    var writes = false
    var sides = Side.allCases
    /// Measured in the same rounds, to be compared with.
    var reference: Reference?

    static let all = [
        Case(name: "insert-positional", template: .empty, writes: true),
        Case(name: "insert-named", template: .empty, writes: true),
        Case(name: "scan-index"),
        Case(name: "scan-name", reference: Reference(name: "scan-index", sides: Side.allCases)),
        Case(name: "scan-borrowed", sides: [.c, .ours, .grdb, .plain]),
        Case(name: "scan-codable"),
        Case(name: "scan-cold"),
        Case(name: "point-lookup"),
        Case(name: "queue-read", reference: .isolatedRead("queue-read")),
        Case(name: "queue-write", writes: true),
        Case(name: "kv-get", template: .settings, reference: .isolatedRead("kv-get")),
        Case(name: "kv-put", template: .settings, writes: true),
        // By hand in C there is no Codable.
        Case(name: "kv-get-codable", template: .settings, sides: [.ours, .grdb]),
        Case(
            name: "pool-2-readers",
            reference: Reference(
                name: "pool-1-reader", label: "one-reader", sides: Side.allCases, threads: 2)),
        Case(name: "open-raw"),
        Case(
            name: "open-passphrase", template: .passphrase, sides: Side.encrypted,
            reference: .keyDerivation),
        Case(
            name: "pool-open-passphrase", template: .passphrase, sides: Side.encrypted,
            reference: .keyDerivation),
        Case(name: "rekey", writes: true, sides: [.c, .ours]),
        // Both with all that is checked: C with the engine's own checks.
        Case(name: "verify", sides: [.c, .ours]),
        Case(name: "backup", sides: [.c, .ours]),
        // In memory, one value for each id.
        Case(name: "seal-value", template: .empty, sides: [.ours]),
        Case(name: "open-value", template: .empty, sides: [.ours]),
        // With files of their own.
        Case(
            name: "vault-get", template: .empty, sides: [.ours],
            reference: Reference(name: "store-get", sides: [.ours])),
    ]
}

/// Another case that is run in the rounds of a case.
struct Reference: Sendable {
    /// What the sides' programs call it.
    var name: String
    /// What the figures call it.
    var label: String
    /// Who runs it; a side that does not is compared with the first that does.
    var sides: [Side]
    /// Of a case that does the reference's work once in each of them at once: the figure is then
    /// how many times the reference's throughput it reaches, and not how many times its time.
    var threads: Int?

    init(name: String, label: String? = nil, sides: [Side], threads: Int? = nil) {
        self.name = name
        self.label = label ?? name
        self.sides = sides
        self.threads = threads
    }

    /// PBKDF2-HMAC-SHA512 with 256,000 rounds, and nothing else.
    static let keyDerivation = Reference(name: "key-derivation", sides: [.c])

    /// GRDB's `read`, which has a transaction for each call; its fastest way has none.
    static func isolatedRead(_ name: String) -> Reference {
        Reference(name: name + "-isolated", label: "grdb-read", sides: [.grdb])
    }
}

/// The file that a case begins with.
enum Template: String, CaseIterable, Sendable {
    /// The table without rows.
    case empty
    case rows
    /// A key-value store.
    case settings
    /// A small file under a passphrase.
    case passphrase
}
