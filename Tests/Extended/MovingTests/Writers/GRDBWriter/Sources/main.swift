import Foundation
import GRDB

// Writes the fixtures `grdb.sqlite` and, with a passphrase, `grdb-sqlcipher.sqlite`; see
// ../../Fixtures/README.md.
//
//     GRDBWriter PATH [PASSPHRASE]

struct Address: Codable {
    var city: String
    var since: Date
}

struct Player: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "player"
    var id: UUID
    var name: String
    var score: Int
    var isCaptain: Bool
    var joined: Date
    var photo: Data?
    var address: Address?
}

struct Note: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "note"
    var id: Int64?
    var text: String
    var playerID: UUID
    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct NotEncrypted: Error {}

let arguments = CommandLine.arguments
var configuration = Configuration()
if arguments.count > 2 {
    let passphrase = arguments[2]
    configuration.prepareDatabase { db in
        try db.execute(sql: "PRAGMA key = '\(passphrase)'")
        guard try String.fetchOne(db, sql: "PRAGMA cipher_version") != nil else {
            throw NotEncrypted()
        }
    }
}

var migrator = DatabaseMigrator()
migrator.registerMigration("players") { db in
    try db.create(table: "player") { t in
        t.primaryKey("id", .blob)
        t.column("name", .text).notNull()
        t.column("score", .integer).notNull()
        t.column("isCaptain", .boolean).notNull()
        t.column("joined", .datetime).notNull()
        t.column("photo", .blob)
        t.column("address", .jsonText)
    }
}
migrator.registerMigration("notes") { db in
    try db.create(table: "note") { t in
        t.autoIncrementedPrimaryKey("id")
        t.column("text", .text).notNull()
        t.column("playerID", .blob).notNull().indexed()
            .references("player", onDelete: .cascade)
    }
}
migrator.registerMigration("search") { db in
    try db.create(virtualTable: "noteSearch", using: FTS5()) { t in
        t.synchronize(withTable: "note")
        t.tokenizer = .porter(wrapping: .unicode61())
        t.column("text")
    }
}

let queue = try DatabaseQueue(path: arguments[1], configuration: configuration)
try migrator.migrate(queue)
try queue.write { db in
    guard let ada = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E"),
        let bob = UUID(uuidString: "7C9E6679-7425-40DE-944B-E07FC1F90AE7")
    else { return }
    let joined = Date(timeIntervalSince1970: 1_700_000_000.123)
    try Player(
        id: ada, name: "Ada", score: 1815, isCaptain: true, joined: joined,
        photo: Data([0xFF, 0xD8, 0x00, 0x01]),
        address: Address(city: "London", since: Date(timeIntervalSince1970: 1_600_000_000.5))
    ).insert(db)
    try Player(
        id: bob, name: "Bob", score: -1, isCaptain: false,
        joined: Date(timeIntervalSince1970: -1), photo: nil, address: nil
    ).insert(db)
    for (text, player) in [("buy milk", ada), ("running late", bob), ("buying bread", ada)] {
        var note = Note(text: text, playerID: player)
        try note.insert(db)
    }
}
try queue.close()
