#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Tests of what a crash leaves: nothing of the memory, neither on the screen nor on the disk.
    struct CrashTests {
        let workspace: Workspace
        private static let row = "canary-9c2e of a row"
        private static let literal = "canary-41d7 of a statement"

        init() throws {
            workspace = try Workspace()
            try workspace.fill("a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('\(Self.row)')")
        }

        @Test(arguments: [("ABRT", 134), ("SEGV", 139), ("ILL", 132), ("TRAP", 133)])
        func `a crash prints no memory and leaves no core`(_ signal: String, _ status: Int) throws {
            let program = try workspace.shell(
                """
                ulimit -c "$(ulimit -H -c)"
                mkdir work && cd work
                # Rows pass through the registers as long as it runs.
                securestorage query ../a.db "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL \
                    SELECT i + 1 FROM n) SELECT count(*) FROM n, t WHERE t.x || i LIKE '%\(Self.literal)'" \
                    --key-file ../key --raw-key > ../out 2> ../err &
                program=$!
                until grep -q '^VmRSS' /proc/$program/status && ls -l /proc/$program/fd | grep -q a.db
                do sleep 0.02; done
                sleep 0.2
                sed -n 's/^Max core file size *//p' /proc/$program/limits
                kill -\(signal) $program
                wait $program 2> /dev/null; echo $?
                ls
                """, environment: ["SWIFT_BACKTRACE": "enable=yes,color=no,registers=all"])
            check(program.lines.count, equals: 2, "\(program.text)")
            check(program.lines.first?.hasPrefix("0 "), equals: true)
            check(program.lines.last, equals: "\(status)")
            try check(workspace.read("out").isEmpty)
            try check(workspace.read("err").isEmpty)
        }
    }
#endif
