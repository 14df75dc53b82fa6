import Foundation
import TestSupport
import Testing
@testable import SecureStorageTests

/// The snippets that people copy are the ones that were compiled.
struct DocumentationTests {
    /// Returns the files whose Swift snippets are compared: the README, the guides, the DocC
    /// catalogue, and the doc comments of the sources.
    private static func documents() throws -> [URL] {
        var documents = [Checkout.file("README.md")]
        for folder in ["Docs", "Sources"] {
            let names = try FileManager.default.subpathsOfDirectory(
                atPath: Checkout.file(folder).path)
            documents += names.filter { $0.hasSuffix(".md") || $0.hasSuffix(".swift") }
                .map { Checkout.file(folder).appendingPathComponent($0) }
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
            "Tests/Extended/SecureStorageExtendedTests/Documentation/DocumentedSnippets.swift",
            "Tests/Extended/SecureStorageExtendedTests/Documentation/AccessSnippets.swift",
            "Tests/Extended/SecureStorageExtendedTests/Documentation/RowSnippets.swift",
            "Tests/Extended/SecureStorageExtendedTests/Documentation/InterpolationSnippets.swift",
            "Tests/Extended/SecureStorageExtendedTests/Documentation/SharingSnippets.swift",
            "Tests/Extended/SecureStorageExtendedTests/Documentation/FullTextSnippets.swift",
            "Tests/Extended/SecureStorageExtendedTests/Documentation/BackupScheduleSnippets.swift",
            "Tests/Extended/TraitTests/Monitoring/MonitoringSnippets.swift",
            "Examples/Depending/Package.swift",
            "Examples/Depending/Sources/Notes/main.swift",
            "Examples/FirstSteps/DataVault/main.swift",
            "Examples/FirstSteps/Keys/main.swift",
            "Examples/FirstSteps/SecureVault/main.swift",
            "Examples/FirstSteps/Sync/FirstSync.swift",
            "Tests/Extended/MovingTests/Snippets/CoreDataSnippets.swift",
            "Tests/Extended/MovingTests/Snippets/FMDBSnippets.swift",
            "Tests/Extended/MovingTests/Snippets/GRDBSnippets.swift",
            "Tests/Extended/MovingTests/Snippets/RealmSnippets.swift",
            "Tests/Extended/MovingTests/Snippets/SQLiteSwiftSnippets.swift",
            "Tests/SecureSyncTests/Engine/SyncKeyValueStoreTests.swift",
            "Tests/Extended/SecureSyncExtendedTests/Engine/SyncVaultTests.swift",
            "Tests/Extended/SecureSyncExtendedTests/SyncSnippets.swift",
            "Tests/Extended/TraitTests/PostgreSQL/PostgreSQLSnippets.swift",
            "Tests/Extended/TraitTests/S3/S3Snippets.swift",
            "Tests/Extended/VaultsExtendedTests/Backup/BackupSnippets.swift",
            "Tests/Extended/VaultsExtendedTests/DataVault/DataVaultSnippets.swift",
            "Tests/Extended/VaultsExtendedTests/SecureVault/KeySnippets.swift",
            "Tests/VaultsTests/SecureVault/SecureVaultAsyncTests.swift",
            "Tests/Extended/VaultsExtendedTests/SecureVault/SecureVaultBackupTests.swift",
            "Tests/VaultsTests/SecureVault/Support/NoteVault.swift",
        ].map { name in
            try Checkout.text(name).components(separatedBy: "\n")
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
