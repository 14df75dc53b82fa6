import Foundation
import TestSupport
import Testing

@testable import SecureStorageTool

/// Messages name options of the tool, not the library's API.
struct ToolWordsTests {
    let workspace: Workspace

    init() throws {
        workspace = try Workspace()
        try workspace.fill("a.db", "CREATE TABLE t (a);")
    }

    @Test(arguments: [
        ("PRAGMA key = 'x'", "--key-file"), ("PRAGMA synchronous = OFF", "waits for the disk"),
        ("PRAGMA journal_mode = OFF", "keeps the mode of a file"),
        ("PRAGMA page_size = 8192", "--page-size"), ("PRAGMA kdf_iter = 1", "--page-size"),
        ("PRAGMA cipher_migrate", "securestorage migrate"),
        ("PRAGMA soft_heap_limit = 1", "the tool does not set it"),
        ("PRAGMA wal_autocheckpoint = 0", "the tool runs checkpoints itself"),
        ("VACUUM INTO 'b.db'", "securestorage backup"),
    ])
    func `what the tool refuses, it explains in its own words`(
        _ sql: String, _ words: String
    ) throws {
        let program = try workspace.run("query", "a.db", sql)
        check(program.status != 0 && program.errors.contains(words), "\(program.errors)")
        check(!program.errors.contains("Configuration"), "\(program.errors)")
        check(program.errors.firstMatch(of: /[a-z]\([a-z_]+:\)/) == nil, "\(program.errors)")
    }

    @Test func `a file with a plaintext header, and one with other pages, name the options`() throws
    {
        try workspace.write(Data("SQLite format 3\0".utf8) + Data(count: 8176), to: "plain.db")
        let plain = try workspace.run("query", "plain.db", "SELECT 1")
        check(plain.errors.contains("use --plaintext-header"), "\(plain.errors)")
        check(!plain.errors.contains("cipher."))
    }
}
