import Foundation
import TestSupport
import Testing

/// The verbs of mirrors over the servers that `make stores` starts.
struct ToolMirrorTests {
    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name]
    }

    /// Mirrors, restores and checks a file.
    ///
    /// - Parameters:
    ///   - store: The address and its options, as a shell reads them.
    ///   - environment: Variables of the program.
    /// - Throws: An error if the programs cannot be started.
    private func copyAndRestore(_ store: String, _ environment: [String: String]) throws {
        let workspace = try Workspace()
        try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('first')")
        // The store is the same for all runs.
        let name = "tool-\(UUID().uuidString.lowercased())"
        let program = try workspace.shell(
            """
            key="--key-file key --raw-key"
            securestorage mirror a.db --to \(store) --name \(name) $key > out 2>&1 & mirror=$!
            until grep -qs 'is in the store' out; do kill -0 $mirror || break; sleep 0.1; done
            securestorage query a.db "INSERT INTO t VALUES ('second')" $key
            kill -TERM $mirror; wait $mirror; echo "status $?"
            securestorage mirror-log --from \(store) --name \(name) --json
            securestorage mirror-verify --from \(store) --name \(name) $key
            securestorage restore b.db --from \(store) --name \(name) $key
            securestorage query b.db "SELECT x FROM t" --csv $key
            cat out
            """, environment: environment)
        check(program.lines.contains("status 0"), "\(program.text) \(program.errors)")
        check(program.lines.contains { $0.hasSuffix(", all sound") }, "\(program.text)")
        check(program.text.contains("first\r\nsecond\r\n"), "\(program.text)")
        check(program.errors.isEmpty, "\(program.errors)")
        check(!(program.text + program.errors).contains("password"))
    }

    @Test(.enabled(if: variable("SECURESTORAGE_S3") != nil))
    func `a mirror in S3`() throws {
        let server = try require(Self.variable("SECURESTORAGE_S3"))
        try copyAndRestore(
            "s3://securestorage/tool --s3-endpoint \(server) --s3-region us-east-1",
            ["AWS_ACCESS_KEY_ID": "tool", "AWS_SECRET_ACCESS_KEY": "the password"])
    }

    #if PostgreSQL
        @Test(.enabled(if: variable("SECURESTORAGE_POSTGRESQL") != nil))
        func `a mirror in PostgreSQL`() throws {
            // The variable of the tests is the tool's.
            try copyAndRestore("postgresql:test", [:])
        }
    #endif
}
