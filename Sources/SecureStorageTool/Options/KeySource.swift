internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The source of a key's bytes; never the value of an argument, which every user of the machine can
/// see.
enum KeySource {
    case terminal
    case descriptor(Int32)
    case file(String)
    case environment(String)

    /// The maximum length of a key; a longer file was not meant to be one.
    private static let longest = 4096

    func read(asking question: String) throws -> SecretBytes {
        switch self {
        case .terminal: try Terminal.askSecret(question)
        case .descriptor(let descriptor): try Self.readToEnd(of: descriptor)
        case .file(let path): try Self.read(path)
        case .environment(let name): try Self.take(name)
        }
    }

    private static func readToEnd(of descriptor: Int32) throws -> SecretBytes {
        let bytes = try read(descriptor, "descriptor \(descriptor)")
        if descriptor > STDERR_FILENO { close(descriptor) }
        return bytes
    }

    /// Reads to the end, and drops the line feed that editors and `echo` append.
    private static func read(_ descriptor: Int32, _ name: String) throws -> SecretBytes {
        var count = 0
        let bytes = try SecretBytes(count: longest + 1) { buffer in
            while count < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let length: Int
                do {
                    length = try Descriptor(borrowing: descriptor).read(into: rest)
                } catch let error as SystemError {
                    throw Failure("the key cannot be read from \(name): \(error.reason)")
                }
                if length == 0 { return }
                count += length
            }
            throw Failure(
                "\(name) contains more than \(longest) bytes, which is too long for a key")
        }
        bytes.withUnsafeBytes { bytes in
            guard count > 0, bytes[count - 1] == UInt8(ascii: "\n") else { return }
            count -= 1
            if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        }
        return bytes.prefix(count)
    }

    private static func read(_ path: String) throws -> SecretBytes {
        func refuse(_ reason: String, _ hint: String) -> Failure {
            Failure("the key file \"\(path)\" \(reason)", hint: hint)
        }
        // Check what is read: the descriptor, not the name.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw refuse("is a symbolic link", "use the path of the file that it points to")
            }
            throw Failure.system("the key file \"\(path)\" cannot be read")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Failure.system("the key file \"\(path)\" cannot be read")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw refuse("is not a regular file", "use --key-fd for a pipe")
        }
        guard status.st_uid == geteuid() else {
            throw refuse("belongs to another user", "make your own copy, with mode 0600")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw refuse("is accessible to other users", "chmod 600 \(path)")
        }
        return try read(descriptor, "the key file \"\(path)\"")
    }

    /// Reads a variable, then overwrites it, because a process's environment is readable from
    /// outside.
    private static func take(_ name: String) throws -> SecretBytes {
        guard let value = getenv(name) else {
            throw Failure.usage("the environment variable \(name) is not set")
        }
        let length = strlen(value)
        let bytes = SecretBytes(copying: UnsafeRawBufferPointer(start: value, count: length))
        memset(value, Int32(UInt8(ascii: "x")), length)
        unsetenv(name)
        return bytes
    }
}
