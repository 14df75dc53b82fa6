import TestSupport
import Testing

/// Groups with a member that knows nothing of this library: the program in
/// Tests/Programs/SyncPython, which was written from Docs/SyncFormat.md;
/// `make campaign NAME=sync-python` has thousands.
///
/// With the packages that Scripts/setup-stores installs.
struct SyncPythonTests {
    @Test(.enabled(if: PythonMember.python != nil))
    func `a program that was written from the format alone joins, reads, writes and agrees`()
        async throws
    {
        let count = Campaign.count("SECURESTORAGE_PYTHON_HISTORIES", usually: 8)
        for seed in Campaign.seeds(count) {
            var history = try PythonHistory(seed: seed)
            do {
                try await history.run()
            } catch {
                Issue.record("seed \(seed): \(error)\n\(history.log.joined(separator: "\n"))")
            }
        }
    }
}
