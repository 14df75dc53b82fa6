internal import CPlatform
internal import Foundation

/// Who may use a directory and the files in it: their owner, or the members of the directory's group.
enum FileAccess: Sendable {
    case owner
    case group

    init(sharedWithGroup: Bool) { self = sharedWithGroup ? .group : .owner }

    /// The mode of files.
    var fileMode: mode_t { self == .owner ? 0o600 : 0o660 }

    /// The mode of directories; a group's has the set-group-ID bit, so that what a member makes in it belongs to
    /// that group, and not to the member's own (open(2)).
    var directoryMode: mode_t { self == .owner ? 0o700 : 0o2770 }

    /// Makes a directory whose parent exists, when there is nothing of its name.
    ///
    /// - Returns: Whether it could be made, or is there; else `errno` says why not.
    func makeDirectory(_ path: String) -> Bool {
        switch self {
        case .owner:
            // The umask may take more away than others' rights.
            guard mkdir(path, 0o700) == 0 else { return errno == EEXIST }
            return chmod(path, directoryMode) == 0
        case .group:
            var status = stat()
            guard lstat(path, &status) != 0 else { return true }
            // Another member must not meet it before it has its mode, nor after a kill.
            let draft = Self.draft(beside: path)
            guard mkdir(draft, 0o700) == 0 else { return false }
            if chmod(draft, directoryMode) == 0, cplatform_rename_exclusive(draft, path) == 0 {
                return true
            }
            let reason = errno
            rmdir(draft)
            errno = reason
            return reason == EEXIST
        }
    }

    /// Makes an empty file, when there is none of its name: nobody meets it before it has its mode.
    ///
    /// - Returns: Whether it could be made, or is there; else `errno` says why not.
    func makeEmptyFile(_ path: String, draft: String) -> Bool {
        let descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        let hasMode = fchmod(descriptor, fileMode) == 0
        close(descriptor)
        if hasMode, cplatform_rename_exclusive(draft, path) == 0 { return true }
        let reason = errno
        unlink(draft)
        errno = reason
        return reason == EEXIST
    }

    /// Why a directory is not one that only these may write or read; nil when it is.
    func objection(toDirectory status: stat) -> String? {
        switch self {
        case .owner where status.st_uid != geteuid(): "belongs to another user"
        case .owner where status.st_mode & 0o077 != 0:
            "is open to others; chmod 700 it when nobody else can have changed what is in it"
        case .group where status.st_mode & 0o7777 != directoryMode:
            "is not for its group alone; chmod 2770 it when nobody else can have changed what is in it"
        default: nil
        }
    }

    /// Why a file in such a directory is not what these make there; nil when it can be.
    func objection(toFile status: stat, in directory: stat) -> String? {
        switch self {
        case .owner where status.st_uid != geteuid(): "belongs to another user"
        case .owner where status.st_mode & 0o077 != 0: "is open to others (its mode is not 0600)"
        case .group where status.st_gid != directory.st_gid: "belongs to another group"
        case .group where status.st_mode & 0o007 != 0: "is open to others (its mode is not 0660)"
        default: nil
        }
    }

    private static func draft(beside path: String) -> String {
        let url = URL(fileURLWithPath: path)
        return url.deletingLastPathComponent().path + "/.new-" + UUID().uuidString.lowercased()
    }
}
