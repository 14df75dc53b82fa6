internal import Foundation

/// A file, or standard input, read in chunks.
final class InputFile {
    /// Bytes in all; nil for a pipe.
    let size: Int?
    /// Bytes read so far.
    private(set) var position = 0
    private let descriptor: Int32
    private let name: String
    private static let chunkSize = 256 * 1024

    /// - Parameter path: `-` for standard input.
    /// - Throws: what the system says when it cannot be opened.
    init(_ path: String) throws {
        name = path == "-" ? "standard input" : "\"\(path)\""
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure.system("\(name) cannot be read") }
        var status = stat()
        let isFile =
            fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        size = isFile ? Int(status.st_size) : nil
    }

    deinit { close(descriptor) }

    /// Replaces the content of `chunk` with what comes next; nothing at the end.
    func read(into chunk: inout [UInt8]) throws {
        if chunk.count < Self.chunkSize {
            chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        }
        while true {
            let count = chunk.withUnsafeMutableBytes {
                Foundation.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure.system("\(name) cannot be read") }
            position += count
            chunk.removeLast(chunk.count - count)
            return
        }
    }
}
