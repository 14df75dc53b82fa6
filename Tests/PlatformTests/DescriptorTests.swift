import CSecureStoragePlatform
import Foundation
import SecureStoragePlatform
import TestSupport
import Testing

struct DescriptorTests {
    @Test func `a read that a signal interrupts is repeated`() throws {
        var ends: [Int32] = [0, 0]
        try require(pipe(&ends) == 0)
        let (readEnd, writeEnd) = (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
        var before = sigaction()
        try require(cplatform_catch(SIGUSR2, { _ in }, &before) == 0)
        defer { sigaction(SIGUSR2, &before, nil) }
        let reader = Locked<pthread_t?>(nil)
        let outcome = Locked<Result<[UInt8], any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            reader.withLock { $0 = pthread_self() }
            var bytes = [UInt8](repeating: 0, count: 8)
            let result = Result {
                let count = try bytes.withUnsafeMutableBytes { try readEnd.read(into: $0) }
                return Array(bytes.prefix(count))
            }
            outcome.withLock { $0 = result }
            done.signal()
        }
        for _ in 1...100 {
            if let thread = reader.withLock({ $0 }) { pthread_kill(thread, SIGUSR2) }
            usleep(1000)
        }
        check(outcome.withLock { $0 == nil }, "the read has ended")
        try [1 as UInt8].withUnsafeBytes {
            try writeEnd.write($0)
        }
        done.wait()
        try check(outcome.withLock { try $0?.get() }, equals: [1])
    }

    @Test func `bytes are read from an offset up to the end of the file`() throws {
        let folder = try TemporaryFolder()
        try folder.write("0123456789", to: "a")
        let file = try Descriptor(folder.path + "/a", O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 8)
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 6) }
        check(Array(bytes.prefix(count)), equals: Array("6789".utf8))
    }

    @Test func `a borrowed descriptor stays open`() throws {
        let folder = try TemporaryFolder()
        let file = try Descriptor(creating: folder.path + "/a")
        _ = Descriptor(borrowing: file.number)
        _ = try file.status()
        check(file.isNamed(folder.path + "/a"))
        check(!file.isNamed(folder.path + "/b"))
    }
}
