/// A piece of work and the sides that perform it.
struct Case: Sendable {
    var name: String
    var template = Template.rows
    /// Whether each run needs a fresh copy of the file.
    var writes = false
    var sides = Side.allCases
    /// Measured in the same rounds for comparison.
    var reference: Reference?
    /// The limit of the library's own instructions, as a part of GRDB's own; nil where they are not
    /// counted, or where there is no limit.
    var ownCost: OwnCost?

    enum OwnCost: Sendable {
        case counted
        case atMost(Double)
    }

    /// Whether each operation is a transaction.
    var writesEachCall: Bool { name == "queue-write" || name == "kv-put" }

    static func named(_ name: String) -> Case? { all.first { $0.name == name } }

    static let all = [
        Case(name: "insert-positional", template: .empty, writes: true, ownCost: .atMost(0.18)),
        Case(name: "insert-named", template: .empty, writes: true, ownCost: .counted),
        Case(name: "scan-index", ownCost: .atMost(0.60)),
        Case(
            name: "scan-name", reference: Reference(name: "scan-index", sides: Side.allCases),
            ownCost: .counted),
        Case(name: "scan-borrowed", sides: [.c, .ours, .grdb, .plain], ownCost: .atMost(0.08)),
        Case(name: "scan-bytes", ownCost: .counted),
        // GRDB's counterpart is a Codable row.
        Case(
            name: "scan-typed", reference: Reference(name: "scan-index", sides: Side.allCases),
            ownCost: .atMost(0.25)),
        Case(name: "scan-codable", ownCost: .atMost(0.55)),
        Case(name: "scan-cold"),
        Case(name: "point-lookup", ownCost: .atMost(0.10)),
        Case(name: "lookup-values", ownCost: .counted),
        Case(name: "lookup-interpolated", ownCost: .counted),
        Case(name: "queue-read", reference: .isolatedRead("queue-read"), ownCost: .atMost(0.12)),
        Case(name: "queue-write", writes: true, ownCost: .counted),
        // Durable, with one, 16 and 64 tasks.
        Case(
            name: "group-write-1", template: .empty, writes: true, sides: [.ours, .grdb],
            reference: .ungrouped(tasks: 1)),
        Case(
            name: "group-write-16", template: .empty, writes: true, sides: [.ours, .grdb],
            reference: .ungrouped(tasks: 16)),
        Case(
            name: "group-write-64", template: .empty, writes: true, sides: [.ours, .grdb],
            reference: .ungrouped(tasks: 64)),
        Case(
            name: "kv-get", template: .settings, reference: .isolatedRead("kv-get"),
            ownCost: .atMost(0.12)),
        Case(name: "kv-put", template: .settings, writes: true, ownCost: .counted),
        // The C code has no Codable.
        Case(name: "kv-get-codable", template: .settings, sides: [.ours, .grdb]),
        // One value of 500 bytes for each row, in chunks.
        Case(name: "blob-write", template: .empty, writes: true, sides: [.c, .ours]),
        Case(name: "blob-read", template: .empty, writes: true, sides: [.c, .ours]),
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
        // Both check everything; C uses the engine's own checks.
        Case(name: "verify", sides: [.c, .ours]),
        Case(name: "backup", sides: [.c, .ours]),
        // In memory, one value per id.
        Case(name: "seal-value", template: .empty, sides: [.ours]),
        Case(
            name: "open-secret", template: .empty, sides: [.ours],
            reference: Reference(name: "open-value", sides: [.ours])),
        // With separate files.
        Case(
            name: "vault-get", template: .empty, sides: [.ours],
            reference: Reference(name: "store-get", sides: [.ours])),
    ]
}

/// Another case that runs in the rounds of a case.
struct Reference: Sendable {
    /// The name of the case in the sides' programs.
    var name: String
    /// The name of the case in the figures.
    var label: String
    /// The sides that run it; any other side is compared with the first of them.
    var sides: [Side]
    /// The number of threads, for a case in which each thread does the reference's work in
    /// parallel.
    ///
    /// The figure is then a multiple of the reference's throughput, not of its time.
    var threads: Int?

    init(name: String, label: String? = nil, sides: [Side], threads: Int? = nil) {
        self.name = name
        self.label = label ?? name
        self.sides = sides
        self.threads = threads
    }

    /// Only PBKDF2-HMAC-SHA512 with 256,000 rounds.
    static let keyDerivation = Reference(name: "key-derivation", sides: [.c])

    /// The same writes, each of which waits for the disk by itself.
    static func ungrouped(tasks: Int) -> Reference {
        Reference(name: "ungrouped-write-\(tasks)", label: "ungrouped", sides: [.ours])
    }

    /// GRDB's `read`, which uses a transaction per call; its fastest access uses none.
    static func isolatedRead(_ name: String) -> Reference {
        Reference(name: name + "-isolated", label: "grdb-read", sides: [.grdb])
    }
}

/// The initial file of a case.
enum Template: String, CaseIterable, Sendable {
    /// The table without rows.
    case empty
    case rows
    /// A key-value store.
    case settings
    /// A small file with a passphrase.
    case passphrase
}
