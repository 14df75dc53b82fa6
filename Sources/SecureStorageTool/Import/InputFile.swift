internal import Foundation
internal import SecureStoragePlatform

/// A file, or standard input, read in chunks of UTF-8.
///
/// A byte-order mark is left out, and UTF-16 with one is converted.
final class InputFile {
    /// The size in bytes, or nil for a pipe.
    let size: Int?
    /// The number of bytes read so far.
    private(set) var position = 0
    /// Whether the last preview has ended before the input.
    private(set) var isPreviewCut = false

    private let descriptor: Descriptor
    private let name: String
    /// Where the descriptor was at the beginning.
    private let origin: off_t
    /// What was read of a pipe in a preview, and is read again.
    private var kept: [UInt8] = []
    /// The number of bytes that a preview may still read; nil outside of one.
    private var allowance: Int?
    private var isAtStart = true
    private var decoder: UTF16Decoder?
    private static let chunkSize = 256 * 1024
    /// The bytes of a pipe that a preview reads at most, as they are kept in memory.
    private static let mostKept = 16 << 20

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
            origin = size == nil ? 0 : lseek(descriptor.number, 0, SEEK_CUR)
        } catch let error as SystemError {
            throw Failure(
                "\(name) cannot be read: \(error.reason)", error.code == ENOENT ? .noFile : .access)
        }
    }

    /// Replaces the contents of `chunk` with the next bytes; `chunk` is empty at the end.
    func read(into chunk: inout [UInt8]) throws {
        repeat {
            try readRaw(into: &chunk)
            if isAtStart { try begin(&chunk) }
            guard decoder != nil, !isPreviewCut else { return }
            let isLast = chunk.isEmpty
            guard let text = decoder?.text(of: chunk, isLast: isLast) else {
                throw Failure("\(name) has a byte-order mark of UTF-16, but is not UTF-16", .data)
            }
            chunk = text
            if isLast { return }
            // A chunk may hold half a character only.
        } while chunk.isEmpty
    }

    /// Runs `body`, which reads the input from its beginning, and goes back to it.
    ///
    /// It can read `limit` bytes; without one all of a file, and the first ``mostKept`` of a pipe.
    func preview<R>(limit: Int? = nil, _ body: () throws -> R) throws -> R {
        allowance = limit ?? (size == nil ? Self.mostKept : .max)
        isPreviewCut = false
        defer { allowance = nil }
        let result = try body()
        (position, isAtStart, decoder) = (0, true, nil)
        if size != nil, lseek(descriptor.number, origin, SEEK_SET) < 0 {
            throw Failure.system("\(name) cannot be read again", .access)
        }
        return result
    }

    // MARK: - Bytes

    /// Removes a byte-order mark.
    private func begin(_ chunk: inout [UInt8]) throws {
        // The longest mark has three bytes.
        var more: [UInt8] = []
        while (1..<3).contains(chunk.count) {
            try readRaw(into: &more)
            if more.isEmpty { break }
            chunk += more
        }
        isAtStart = false
        if chunk.starts(with: [0xef, 0xbb, 0xbf]) {
            chunk.removeFirst(3)
            // An empty chunk would be the end.
            if chunk.isEmpty { try readRaw(into: &chunk) }
        } else if chunk.starts(with: [0xff, 0xfe]) || chunk.starts(with: [0xfe, 0xff]) {
            decoder = UTF16Decoder(isBigEndian: chunk[0] == 0xfe)
            chunk.removeFirst(2)
            if chunk.isEmpty { try readRaw(into: &chunk) }
        }
    }

    private func readRaw(into chunk: inout [UInt8]) throws {
        var most = Self.chunkSize
        if let allowance {
            most = min(most, allowance)
            guard most > 0 else {
                isPreviewCut = true
                chunk = []
                return
            }
        }
        if position < kept.count {
            chunk = Array(kept[position..<min(kept.count, position + most)])
        } else {
            try readDescriptor(into: &chunk, most)
            if size == nil {
                // Only a preview is followed by another reading.
                if allowance == nil { kept = [] } else { kept += chunk }
            }
        }
        position += chunk.count
        if let allowance { self.allowance = allowance - chunk.count }
    }

    private func readDescriptor(into chunk: inout [UInt8], _ most: Int) throws {
        if chunk.count != most { chunk = [UInt8](repeating: 0, count: most) }
        do {
            let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
            chunk.removeLast(chunk.count - count)
        } catch let error as SystemError {
            throw Failure("\(name) cannot be read: \(error.reason)", .access)
        }
    }
}

/// Converts UTF-16 to UTF-8 in chunks that end anywhere.
private struct UTF16Decoder {
    let isBigEndian: Bool
    /// The bytes of a character that has begun.
    private var rest: [UInt8] = []

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// Returns the text of the next bytes as UTF-8; nil if they are not UTF-16.
    mutating func text(of chunk: [UInt8], isLast: Bool) -> [UInt8]? {
        let bytes = rest + chunk
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        for start in stride(from: 0, to: bytes.count - 1, by: 2) {
            let (first, second) = (UInt16(bytes[start]), UInt16(bytes[start + 1]))
            units.append(isBigEndian ? first << 8 | second : second << 8 | first)
        }
        // The first half of a pair waits for the second one.
        if !isLast, let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
        rest = Array(bytes[(2 * units.count)...])
        guard !isLast || rest.isEmpty else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        let isBroken = transcode(
            units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: true
        ) { result.append($0) }
        return isBroken ? nil : result
    }
}
