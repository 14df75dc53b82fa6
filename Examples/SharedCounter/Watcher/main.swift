import Foundation
import SecureStorage
import SharedCounter

// Shows the counter and each change of it as it arrives, whichever process makes it. Costs nothing
// while nothing changes.
//
//     swift run --package-path Examples CounterWatcher [FILE [TIMES]]

let pool = try SharedCounter.database().open(
    with: SharedCounter.key, migrations: SharedCounter.migrations)
let times = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? .max
var shown = 0

let values = pool.values { db in
    try db.int(forQuery: "SELECT value FROM counter WHERE name = 'clicks'") ?? 0
}
for await value in values {
    // An error is delivered once and does not end the loop: the next change may be readable again.
    switch value {
    case .success(let value): print("the counter is at \(value)")
    case .failure(let error): print("cannot read the counter: \(error)")
    }
    shown += 1
    if shown == times { break }
}
pool.close()
