internal import Foundation
internal import SecureStoragePlatform

/// A file, or standard input, read in chunks.
final class InputFile {
    /// The size in bytes, or nil for a pipe.
    let size: Int?
    /// The number of bytes read so far.
    private(set) var position = 0
    private let descriptor: Descriptor
    private let name: String
    private static let chunkSize = 256 * 1024

    /// - Parameter path: The file, or `-` for standard input.
    /// - Throws: the system's error when it cannot be opened.
    init(_ path: String) throws {
        name = path == "-" ? "standard input" : "\"\(path)\""
        do {
            descriptor =
                path == "-"
                ? Descriptor(borrowing: STDIN_FILENO) : try Descriptor(path, O_RDONLY)
            let status = try descriptor.status()
            size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
        } catch let error as SystemError {
            throw Failure(
                "\(name) cannot be read: \(error.reason)", error.code == ENOENT ? .noFile : .access)
        }
    }

    /// Replaces the contents of `chunk` with the next bytes; `chunk` is empty at the end.
    func read(into chunk: inout [UInt8]) throws {
        if chunk.count < Self.chunkSize {
            chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        }
        do {
            let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
            position += count
            chunk.removeLast(chunk.count - count)
        } catch let error as SystemError {
            throw Failure("\(name) cannot be read: \(error.reason)", .access)
        }
    }
}
