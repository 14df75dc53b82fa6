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

    /// Reads a file with a secret, which is named `what` in messages.
    static func read(_ path: String, as what: String = "key file") throws -> SecretBytes {
        func refuse(_ reason: String, _ hint: String) -> Failure {
            Failure("the \(what) \"\(path)\" \(reason)", hint: hint)
        }
        // Check what is read: the descriptor, not the name.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw refuse("is a symbolic link", "use the path of the file that it points to")
            }
            throw Failure.system("the \(what) \"\(path)\" cannot be read")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Failure.system("the \(what) \"\(path)\" cannot be read")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw refuse("is not a regular file", "use --key-fd for a pipe")
        }
        // systemd's credentials belong to root, and a list of access rights, which shows as rights
        // of the group, gives them to the service.
        let isCredential = status.st_uid == 0 && isInCredentialsDirectory(path)
        guard status.st_uid == geteuid() || isCredential else {
            throw refuse("belongs to another user", "make your own copy, with mode 0600")
        }
        guard status.st_mode & (isCredential ? 0o037 : 0o077) == 0 else {
            throw refuse("is accessible to other users", "chmod 600 \(path)")
        }
        return try read(descriptor, "the \(what) \"\(path)\"")
    }

    /// Whether a path names a file of the directory that systemd has made for this service only.
    private static func isInCredentialsDirectory(_ path: String) -> Bool {
        guard let directory = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }),
            directory.hasPrefix("/"), path.hasPrefix(directory + "/")
        else { return false }
        return !path.utf8.dropFirst(directory.utf8.count + 1).contains(UInt8(ascii: "/"))
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
