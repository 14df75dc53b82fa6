package import Foundation
internal import SecureStoragePlatform
internal import TestSupport

/// The program `StoreWork` in a process of its own.
package final class Worker: Sendable {
    private let process: pid_t
    private let errors: FileHandle

    /// Starts it.
    ///
    /// - Parameter arguments: See `Tests/Programs/StoreWork/main.swift`.
    /// - Throws: An error if it cannot be started.
    package init(_ arguments: [String]) throws {
        let path = NSTemporaryDirectory() + "Worker-\(UUID().uuidString)"
        let none = try Descriptor("/dev/null", O_RDWR)
        let file = try Descriptor(creating: path)
        unlink(path)
        process = try ChildProcess.start(
            [BuiltProgram.path("StoreWork")] + arguments, ProcessInfo.processInfo.environment,
            [none.number, none.number, file.number])
        errors = FileHandle(fileDescriptor: dup(file.number), closeOnDealloc: true)
    }

    /// Kills it after a time.
    ///
    /// - Throws: ``Failure`` if it had ended by itself.
    package func kill(after delay: Duration) async throws {
        try await Task.sleep(for: delay)
        // Not waited for yet, so the number is still its.
        Foundation.kill(process, SIGKILL)
        let status = try await waited()
        guard status & 0x7f == SIGKILL else { throw failure(status) }
    }

    /// Waits for its end.
    ///
    /// - Throws: ``Failure`` with its output, unless all went well.
    package func finish() async throws {
        let status = try await waited()
        guard status == 0 else { throw failure(status) }
    }

    private func waited() async throws -> Int32 {
        let process = process
        return try await onOwnThread(evenIfCancelled: true) {
            var status: Int32 = -1
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            return status
        }
    }

    private func failure(_ status: Int32) -> Failure {
        try? errors.seek(toOffset: 0)
        let text = String(decoding: errors.readDataToEndOfFile(), as: UTF8.self)
        return Failure("the worker has ended with \(status): \(text)")
    }
}

/// A number in a file, which another process reads after this one was killed.
package struct NumberFile: Sendable {
    private let url: URL

    package init(_ url: URL) { self.url = url }

    package func write(_ number: Int) throws {
        let file = try Descriptor(url.path, O_WRONLY | O_CREAT)
        // In one call, of the same length each time.
        try Data(String(format: "%12d", number).utf8).withUnsafeBytes {
            try file.write($0, at: 0)
        }
    }

    /// Waits for the first one, for two minutes at most.
    package func wait() async throws {
        let end = ContinuousClock.now + .seconds(120)
        while number == 0, .now < end { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// 0 before the first one.
    package var number: Int {
        let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
        return Int(text.trimmingCharacters(in: .whitespaces)) ?? 0
    }
}
