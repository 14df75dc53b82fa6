import ArgumentParser
import Foundation
import SecureMirror
import SecureStorage

struct Restoring: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "a restore beside copying the file and checking it")

    @OptionGroup var folder: Folder
    @Option var megabytes = 1000

    func run() async throws {
        try await folder.use { folder in
            let subject = try Subject(in: folder)
            let (pool, megabytes) = (subject.pool, megabytes)
            for _ in 0..<max(megabytes / 50, 1) {
                try await pool.write { db in
                    for _ in 0..<500 {
                        try db.executeUpdate("INSERT INTO t (bytes) VALUES (randomblob(100000))")
                    }
                }
                try await pool.writeWithoutTransaction { db in _ = try? db.checkpoint(.truncate) }
            }
            let before = peakMegabytes()
            let shipping = try await seconds { try await subject.makeMirror().flush() }
            let shipped = peakMegabytes()
            await pool.close()
            let file = folder.appendingPathComponent("app.db")
            let copy = folder.appendingPathComponent("copy.db")
            let restored = folder.appendingPathComponent("restored.db")
            var (copying, restoring): ([Double], [Double]) = ([], [])
            for _ in 0..<3 {
                copying.append(
                    try await seconds {
                        try FileManager.default.copyItem(at: file, to: copy)
                        let db = SecureDatabaseStore(url: copy)
                        try db.open(with: subject.key)
                        guard try db.verifyIntegrity().isSound else { throw ExitCode(1) }
                        db.close()
                    })
                restoring.append(
                    try await seconds {
                        try await DatabaseMirror.restore(
                            Subject.name, from: subject.store, to: restored, key: subject.key)
                    })
                try SecureDatabaseStore.remove(at: copy)
                try SecureDatabaseStore.remove(at: restored)
            }
            let size = Double(megabytes)
            print(
                "\(megabytes) MB: shipped in \(text(shipping, 1)) s, memory \(text(before, 0)) to "
                    + "\(text(shipped, 0)) MB; restored in \(text(median(restoring), 1)) s, copied and "
                    + "checked in \(text(median(copying), 1)) s (\(text(size / median(copying), 0)) MB/s): "
                    + "\(text(median(zip(copying, restoring).map { $0 / $1 }))) (at least 0.5), memory at "
                    + "most \(text(peakMegabytes(), 0)) MB")
        }
    }
}
