internal import Foundation
internal import StoreChecks
internal import SecureSync

/// A member that writes events and syncs until it is killed.
///
/// It writes its commits to `folder`/committed, and the rows that it saw to `folder`/seen.
/// `port` is that of a proxy before the server, or 0.
func sync(in folder: URL, _ place: MirrorPlace, as name: String, port: UInt16) async throws {
    let member = try EventMember(
        in: folder, store: place.store(through: port == 0 ? nil : port, patience: .seconds(2)))
    let committed = NumberFile(folder.appendingPathComponent("committed"))
    var seen = try SeenFile(folder.appendingPathComponent("seen"))
    try seen.add(try await member.look())
    while true {
        for _ in 0..<Int.random(in: 1...3) {
            let vector = try await member.write(as: name)
            try committed.write(vector[name] ?? 0)
        }
        do {
            try await member.engine.syncOnce()
        } catch let error as SyncError where error.isTransient {
            // The proxy has cut.
        }
        try seen.add(try await member.look())
    }
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
