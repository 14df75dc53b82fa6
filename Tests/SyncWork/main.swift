import Foundation
import MirrorChecks
import SecureSync
import SyncChecks

// A member that writes events and syncs until it is killed; an error ends it with its text.
//
//     SyncWork FOLDER PLACE NAME PORT    PORT of a proxy before the server, or 0
//
// What it has committed it writes to FOLDER/committed, and what it has seen to FOLDER/seen.
let arguments = Array(CommandLine.arguments.dropFirst())

// Not longer than the tests, however these end.
let parent = getppid()
Thread.detachNewThread {
    while getppid() == parent { usleep(200_000) }
    exit(3)
}

do {
    guard arguments.count == 4, let place = MirrorPlace(arguments[1]) else { exit(2) }
    let folder = URL(fileURLWithPath: arguments[0])
    let port = UInt16(arguments[3]) ?? 0
    let member = try EventMember(
        in: folder, store: place.store(through: port == 0 ? nil : port, patience: .seconds(2)))
    let committed = NumberFile(folder.appendingPathComponent("committed"))
    var seen = try SeenFile(folder.appendingPathComponent("seen"))
    try seen.add(try await member.look())
    while true {
        for _ in 0..<Int.random(in: 1...3) {
            let vector = try await member.write(as: arguments[2])
            try committed.write(vector[arguments[2]] ?? 0)
        }
        do {
            try await member.engine.syncOnce()
        } catch let error as SyncError where error.isTransient {
            // The proxy has cut.
        }
        try seen.add(try await member.look())
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}

/// What was seen, which must not become less, whatever was killed in between.
struct SeenFile {
    private let url: URL
    private var last: EventMember.Vector

    init(_ url: URL) throws {
        self.url = url
        last = [:]
        // Written in one call and renamed, so whole.
        if let data = try? Data(contentsOf: url) {
            last = try JSONDecoder().decode(EventMember.Vector.self, from: data)
        }
    }

    mutating func add(_ vector: EventMember.Vector) throws {
        for (writer, number) in last where vector[writer, default: 0] < number {
            throw EventFailure("\(writer)-\(number) was seen, and is no more")
        }
        last = vector
        try JSONEncoder().encode(vector).write(to: url, options: .atomic)
    }
}
