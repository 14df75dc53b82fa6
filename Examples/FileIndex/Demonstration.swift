import Foundation
import SecureStorage

/// Readers in parallel with a writer that imports: an encrypted index of the files below a folder.
///
///     swift run --package-path Examples FileIndex [folder]
///
/// One task adds files in transactions of a hundred; four others query totals throughout and see
/// only whole transactions. At the end the index is read row by row, and a query that takes too
/// long is interrupted.
@main
struct Demonstration {
    let folder: String
    let index: FileIndex

    static func main() async {
        let folder = CommandLine.arguments.dropFirst().first ?? "/usr/bin"
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("file-index-\(UUID().uuidString)", isDirectory: true)
        let index = FileIndex(path: directory.appendingPathComponent("index.db").path)
        var status: Int32 = 0
        do {
            try await index.open(with: .raw(SecretBytes.random(count: 32)))
            try await Demonstration(folder: folder, index: index).run()
        } catch {
            FileHandle.standardError.write(Data("FileIndex: \(error)\n".utf8))
            status = 1
        }
        await index.close()
        try? FileManager.default.removeItem(at: directory)
        exit(status)
    }

    private func run() async throws {
        let start = ContinuousClock.now
        let answers = try await importAndAsk()
        let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
        let totals = try await index.totals()
        guard totals.files > 0 else { throw Surprise(text: "there is no file below \(folder)") }
        print(
            """
            \(totals.files) files, \(totals.bytes / 1_000_000) MB, \(totals.transactions ?? 0) \
            transactions in \(milliseconds) ms; meanwhile \(answers) answers from four readers, each whole

            The largest files of \(folder):
            """)
        var printed = 0
        for try await file in index.filesBySize() {
            print(String(format: "%10.1f MB ", Double(file.bytes) / 1_000_000), file.path)
            printed += 1
            // The loop may end at any time.
            if printed == 5 { break }
        }
        do {
            let pairs = try await index.pairsOfSameSize(within: .milliseconds(300))
            print("\n\(pairs) pairs of files have the same size")
        } catch let error as SecureStorageError where error.interruption == .deadline {
            print("\nPairs of files of the same size: not counted within 0.3 s")
        }
    }

    /// Runs one task that writes, and four that read until it has ended.
    ///
    /// - Returns: The number of answers that the readers received.
    private func importAndAsk() async throws -> Int {
        let importing = Importing()
        return try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                defer { importing.end() }
                try await index.add(filesBelow: folder)
                return 0
            }
            for _ in 0..<4 {
                group.addTask { try await ask(during: importing) }
            }
            var answers = 0
            for try await count in group { answers += count }
            return answers
        }
    }

    private func ask(during importing: Importing) async throws -> Int {
        var answers = 0
        var last = Totals()
        while !importing.hasEnded {
            let now = try await index.totals()
            guard now.files >= last.files, now.files == now.filesOfTransactions ?? 0 else {
                throw Surprise(text: "a reader saw half a transaction: \(now)")
            }
            last = now
            answers += 1
        }
        return answers
    }
}
