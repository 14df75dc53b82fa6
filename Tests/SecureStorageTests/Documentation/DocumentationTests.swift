import Foundation
import TestSupport
import Testing

/// The snippets that people copy are the ones that were compiled.
struct DocumentationTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Returns the files whose Swift snippets are compared: the README, the guides, the DocC
    /// catalogue, and the doc comments of the sources.
    private static func documents() throws -> [URL] {
        var documents = [root.appendingPathComponent("README.md")]
        for folder in ["Docs", "Sources"] {
            let names = try FileManager.default.subpathsOfDirectory(
                atPath: root.appendingPathComponent(folder).path)
            documents += names.filter { $0.hasSuffix(".md") || $0.hasSuffix(".swift") }
                .map { root.appendingPathComponent(folder).appendingPathComponent($0) }
        }
        return documents
    }

    /// Returns the lines of each block between a line ```` ```swift ```` and the next fence,
    /// without their indentation and the slashes of a doc comment.
    private static func snippets(in document: URL) throws -> [[String]] {
        var snippets: [[String]] = []
        var current: [String]?
        for line in try String(contentsOf: document, encoding: .utf8).components(separatedBy: "\n")
        {
            var line = line.trimmingCharacters(in: .whitespaces)
            if document.pathExtension == "swift" {
                guard line.hasPrefix("///") else {
                    current = nil
                    continue
                }
                line = line.dropFirst(3).trimmingCharacters(in: .whitespaces)
            }
            if current == nil {
                if line == "```swift" { current = [] }
            } else if line == "```" {
                snippets.append(current ?? [])
                current = nil
            } else if !line.isEmpty {
                current?.append(line)
            }
        }
        return snippets
    }

    @Test func `every Swift snippet of the documentation is in a compiled test`() throws {
        let compiled = try [
            "DocumentedSnippets.swift", "AccessSnippets.swift", "RowSnippets.swift",
            "SharingSnippets.swift", "FullTextSnippets.swift", "BackupScheduleSnippets.swift",
            "MonitoringSnippets.swift",
            "../../../Examples/Depending/Package.swift",
            "../../../Examples/Depending/Sources/Notes/main.swift",
            "../../../Examples/FirstSteps/DataVault/main.swift",
            "../../../Examples/FirstSteps/Keys/main.swift",
            "../../../Examples/FirstSteps/SecureVault/main.swift",
            "../../../Examples/FirstSteps/Sync/FirstSync.swift",
            "../../MovingTests/Snippets/CoreDataSnippets.swift",
            "../../MovingTests/Snippets/FMDBSnippets.swift",
            "../../MovingTests/Snippets/GRDBSnippets.swift",
            "../../MovingTests/Snippets/RealmSnippets.swift",
            "../../MovingTests/Snippets/SQLiteSwiftSnippets.swift",
            "../../SecureSyncTests/Engine/SyncKeyValueStoreTests.swift",
            "../../SecureSyncTests/Engine/SyncVaultTests.swift",
            "../../SecureSyncTests/SyncSnippets.swift",
            "../../SyncPostgreSQLTests/PostgreSQLSnippets.swift",
            "../../VaultsTests/Backup/BackupSnippets.swift",
            "../../VaultsTests/DataVault/DataVaultSnippets.swift",
            "../../VaultsTests/SecureVault/KeySnippets.swift",
            "../../VaultsTests/SecureVault/SecureVaultAsyncTests.swift",
            "../../VaultsTests/SecureVault/SecureVaultBackupTests.swift",
            "../../VaultsTests/SecureVault/Support/NoteVault.swift",
        ].map { name in
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent(name)
            return try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.isEmpty }
                .joined(separator: "\n")
        }
        var count = 0
        for document in try Self.documents() {
            for snippet in try Self.snippets(in: document) {
                count += 1
                let text = snippet.joined(separator: "\n")
                check(
                    compiled.contains { $0.contains(text) },
                    "\(document.lastPathComponent): in no compiled test:\n\(text)")
            }
        }
        check(count >= 8, "\(count) snippets were found")
    }

    @Test func `every file that the documentation links to exists`() throws {
        for document in try Self.documents() where document.pathExtension == "md" {
            let text = try String(contentsOf: document, encoding: .utf8)
            for match in text.matches(of: /\]\(([^)#:]+)(#[^)]*)?\)/) {
                let target = document.deletingLastPathComponent()
                    .appendingPathComponent(String(match.1))
                check(
                    FileManager.default.fileExists(atPath: target.path),
                    "\(document.lastPathComponent) links to \(match.1)")
            }
        }
    }
}
