internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The source of a key's bytes; never the value of an argument, which every user of the machine can
/// see.
enum KeySource {
    case terminal
    case descriptor(Int32)
    case file(String, isInsecure: Bool)
    case environment(String)

    /// The maximum length of a key; a longer file was not meant to be one.
    private static let longest = 4096

    func read(asking question: String) throws -> SecretBytes {
        switch self {
        case .terminal: try Terminal.askSecret(question)
        case .descriptor(let descriptor): try Self.readToEnd(of: descriptor)
        case .file(let path, let isInsecure): try Self.read(path, isInsecure: isInsecure)
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
                    throw Failure("the key cannot be read from \(name): \(error.reason)", .noKey)
                }
                if length == 0 { return }
                count += length
            }
            throw Failure(
                "\(name) contains more than \(longest) bytes, which is too long for a key", .noKey)
        }
        bytes.withUnsafeBytes { bytes in
            guard count > 0, bytes[count - 1] == UInt8(ascii: "\n") else { return }
            count -= 1
            if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        }
        return bytes.prefix(count)
    }

    /// Reads a file with a secret, which is named `what` in messages.
    ///
    /// If `isInsecure`, the file may be a link, belong to root, and be readable by others, as the
    /// secrets that containers mount. Nobody else may be able to change it in any case.
    static func read(
        _ path: String, as what: String = "key file", isInsecure: Bool = false
    ) throws -> SecretBytes {
        func refuse(_ reason: String, _ hint: String, orInsecure: Bool = false) -> Failure {
            let other =
                orInsecure && what == "key file"
                ? "; --insecure-key-file accepts a secret that a container mounts so" : ""
            return Failure("the \(what) \"\(path)\" \(reason)", hint: hint + other, .noKey)
        }
        func unreadable() -> Failure {
            Failure.system("the \(what) \"\(path)\" cannot be read", .noKey)
        }
        // Check what is read: the descriptor, not the name.
        let links = isInsecure ? 0 : O_NOFOLLOW
        let descriptor = open(path, O_RDONLY | links | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ELOOP, !isInsecure else { throw unreadable() }
            throw refuse(
                "is a symbolic link", "use the path of the file that it points to", orInsecure: true
            )
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw refuse("is not a regular file", "use --key-fd for a pipe")
        }
        // systemd's credentials belong to root, and a list of access rights, which shows as rights
        // of the group, gives them to the service.
        let isCredential = status.st_uid == 0 && isInCredentialsDirectory(path)
        let mayBeRoots = isInsecure && status.st_uid == 0
        guard status.st_uid == geteuid() || isCredential || mayBeRoots else {
            throw refuse(
                "belongs to another user", "make your own copy, with mode 0600",
                orInsecure: status.st_uid == 0)
        }
        guard !isInsecure || status.st_mode & 0o022 == 0 else {
            throw refuse("can be changed by other users", "chmod go-w \(path)")
        }
        guard isInsecure || status.st_mode & (isCredential ? 0o037 : 0o077) == 0 else {
            throw refuse("is accessible to other users", "chmod 600 \(path)", orInsecure: true)
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
            throw Failure("the environment variable \(name) is not set", .noKey)
        }
        let length = strlen(value)
        let bytes = SecretBytes(copying: UnsafeRawBufferPointer(start: value, count: length))
        memset(value, Int32(UInt8(ascii: "x")), length)
        unsetenv(name)
        return bytes
    }
}
