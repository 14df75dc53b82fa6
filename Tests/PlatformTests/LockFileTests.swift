import Foundation
import SecureStoragePlatform
import TestSupport
import Testing

struct LockFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path + "/lock" }

    private func take(_ patience: Duration) throws -> LockFile? {
        try LockFile.take(path, patience: patience) { [path] in
            try Descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        }
    }

    @Test func `a lock has one holder, even in one process`() throws {
        let held = try require(take(.zero))
        try withExtendedLifetime(held) {
            let before = ContinuousClock.now
            let second = try take(.milliseconds(50))
            check(second == nil)
            check(ContinuousClock.now - before >= .milliseconds(50))
        }
    }

    @Test func `a lock is free when its holder lets go`() throws {
        _ = try require(take(.zero))
        let next = try take(.zero)
        check(next != nil)
    }

    @Test func `a caller that waits for a removed file locks the one that has its name`() throws {
        var held = try take(.zero)
        try require(held != nil)
        let waiting = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let isNamed = Locked<Bool?>(nil)
        Thread.detachNewThread { [path] in
            let lock = try? LockFile.take(path, patience: .seconds(30)) {
                waiting.signal()
                return try Descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW)
            }
            isNamed.withLock { $0 = lock?.descriptor.isNamed(path) }
            done.signal()
        }
        // It has opened the file that is about to lose its name.
        waiting.wait()
        waiting.wait()
        unlink(path)
        held = nil
        done.wait()
        check(isNamed.withLock { $0 }, equals: true)
    }

    @Test func `a file that never has the name ends the wait`() throws {
        try folder.write("", to: "other")
        let lock = try LockFile.take(path, patience: .milliseconds(20)) { [folder] in
            try Descriptor(folder.path + "/other", O_RDWR)
        }
        check(lock == nil)
    }

    @Test func `a file that cannot be opened is an error with its code`() throws {
        let error = #expect(throws: SystemError.self) {
            try LockFile.take(path, patience: .zero) { [path] in try Descriptor(path, O_RDWR) }
        }
        check(error?.code, equals: ENOENT)
    }
}
