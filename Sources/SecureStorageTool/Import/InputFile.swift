internal import Foundation

/// A file, or standard input, read in chunks.
final class InputFile {
    /// The size in bytes, or nil for a pipe.
    let size: Int?
    /// The number of bytes read so far.
    private(set) var position = 0
    private let descriptor: Int32
    private let name: String
    private static let chunkSize = 256 * 1024

    /// - Parameter path: The file, or `-` for standard input.
    /// - Throws: the system's error when it cannot be opened.
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

    /// Replaces the contents of `chunk` with the next bytes; `chunk` is empty at the end.
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
