import Foundation
import SecureStorage
import SharedCounter

// Counts up once per second, in a file that other processes use concurrently. Start it twice: both
// count.
//
//     swift run --package-path Examples CounterWriter [FILE [TIMES]]

let pool = try SharedCounter.database().open(
    with: SharedCounter.key, migrations: SharedCounter.migrations)
let times = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? .max

for number in 1...times {
    do {
        let value = try pool.write { db in
            try db.executeUpdate("UPDATE counter SET value = value + 1 WHERE name = 'clicks'")
            return try db.int(forQuery: "SELECT value FROM counter WHERE name = 'clicks'")
        }
        // After the commit: a printed value survives a power failure.
        print("process \(getpid()) counted to \(value ?? 0)")
    } catch let error as SecureStorageError where error.isBusy {
        print("another process is holding the write lock; trying again")
    }
    if number < times { try await Task.sleep(for: .seconds(1)) }
}
pool.close()
