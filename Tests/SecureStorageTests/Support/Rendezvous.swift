import Foundation

/// Makes threads or processes wait for each other, to do the next thing at the same time.
enum Rendezvous {
    /// Waits for other processes: each creates a file `name` in `directory` and waits until `count`
    /// files exist.
    ///
    /// Gives up after a minute: the others may have died, which their own test reports.
    static func meet(in directory: String, as name: String, count: Int) {
        _ = FileManager.default.createFile(atPath: "\(directory)/\(name)", contents: nil)
        let deadline = Date().addingTimeInterval(60)
        while Date() < deadline {
            let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
            if (names?.count ?? 0) >= count { return }
            usleep(200)
        }
    }
}

/// A value shared by threads.
final class Shared<Value: Sendable>: @unchecked Sendable {
    // @unchecked: `value` is accessed only under `lock`.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
        try lock.withLock { try body(&value) }
    }

    var current: Value { withLock { $0 } }
}

/// Lets threads continue when `count` have arrived.
final class Gate: @unchecked Sendable {
    // @unchecked: `missing` is accessed only under `condition`.
    private let condition = NSCondition()
    private var missing: Int

    init(count: Int) { missing = count }

    func pass() {
        condition.withLock {
            missing -= 1
            condition.broadcast()
            while missing > 0 { condition.wait() }
        }
    }
}
