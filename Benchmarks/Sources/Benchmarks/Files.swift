import Foundation

/// The files that the sides work on, in a folder that is removed with this object.
///
/// One template is made for all encrypted sides and one for the plain side, both by the C code.
final class Files {
    private let directory: URL
    private var made: Set<String> = []
    private var interruptions: [any DispatchSourceSignal] = []

    init() throws {
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("benchmark-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        // A run that is interrupted must not leave hundreds of megabytes behind.
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [directory] in
                try? FileManager.default.removeItem(at: directory)
                exit(128 + number)
            }
            source.resume()
            interruptions.append(source)
        }
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Returns the file for the next run of `side`; a fresh copy if the run writes.
    func file(_ template: Template, rows: Int, for side: Side, copied: Bool) throws -> URL {
        let original = try original(template, rows: rows, for: side)
        guard copied else { return original }
        let copy = directory.appendingPathComponent("work.db")
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: copy.path + suffix)
        }
        try FileManager.default.copyItem(at: original, to: copy)
        return copy
    }

    /// Makes a folder that is removed with the files.
    func makeDirectory(_ name: String) throws -> URL {
        let url = directory.appendingPathComponent(name, isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    /// Removes all files; they are made again when needed.
    func removeAll() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(name))
        }
        made = []
    }

    private func original(_ template: Template, rows: Int, for side: Side) throws -> URL {
        let maker = side == .plain ? Side.plain : .c
        let name = "\(maker.rawValue)-\(template.rawValue)-\(rows).db"
        let url = directory.appendingPathComponent(name)
        guard !made.contains(name) else { return url }
        try maker.start().make(template, rows: rows, at: url)
        try requireEncrypted(url, maker == .c)
        made.insert(name)
        return url
    }

    private func requireEncrypted(_ url: URL, _ wanted: Bool) throws {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        let isPlain = try file.read(upToCount: 16) == Data("SQLite format 3\0".utf8)
        guard isPlain != wanted else {
            throw BenchmarkFailure(
                wanted ? "the encrypted file is plain text" : "the plain file is encrypted")
        }
    }
}
